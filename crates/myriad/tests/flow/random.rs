//! Random graphs and pipelines, against what must come of them.

use crate::common::{Rng, each};
use myriad::channel::{bounded, unbounded};
use myriad::flow::Graph;
use myriad::flow::graph::NodeId;
use myriad::flow::ops::{Pipeline, Why};
use myriad::{time, yield_now};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

fn below(rng: &mut Rng, n: usize) -> usize {
    rng.below(n as u64) as usize
}

/// Of random graphs some nodes fail, others wait: what ran, failed and was skipped is as in a
/// serial run, each time that the graph is run.
#[test]
fn graphs_as_a_serial_run() {
    each(&[1, 2, 4], |rt| {
        for seed in 0..40 {
            let mut rng = Rng(seed);
            let nodes = 1 + below(&mut rng, 60);
            let before: Vec<Vec<usize>> =
                (0..nodes).map(|at| (0..below(&mut rng, 4).min(at)).map(|_| below(&mut rng, at)).collect()).collect();
            // 0 to 9 fail in a tenth of the runs each; others wait.
            let kinds: Vec<usize> = (0..nodes).map(|_| below(&mut rng, 40)).collect();
            let (run, ran) = (AtomicUsize::new(0), (0..nodes).map(|_| AtomicUsize::new(0)).collect::<Vec<_>>());
            let mut graph = Graph::builder();
            let mut ids: Vec<NodeId> = Vec::new();
            for at in 0..nodes {
                let (run, ran, kind) = (&run, &ran, kinds[at]);
                let body = move || {
                    ran[at].fetch_add(1, SeqCst);
                    match kind {
                        fails if fails == run.load(SeqCst) => return Err("fails"),
                        10..20 => yield_now(),
                        20 => time::sleep(Duration::from_micros(50)),
                        _ => {}
                    }
                    Ok(())
                };
                let after: Vec<NodeId> = before[at].iter().map(|&b| ids[b]).collect();
                ids.push(graph.node(at.to_string(), body).after(after).id());
            }
            let graph = graph.build().unwrap();
            for number in 0..10 {
                run.store(number, SeqCst);
                let (mut failed, mut skipped) = (BTreeSet::new(), BTreeSet::new());
                for at in 0..nodes {
                    if before[at].iter().any(|b| failed.contains(b) || skipped.contains(b)) {
                        skipped.insert(at);
                    } else if kinds[at] == number {
                        failed.insert(at);
                    }
                }
                let result = rt.run(|| graph.run());
                for (at, ran) in ran.iter().enumerate() {
                    let want = usize::from(!skipped.contains(&at));
                    assert_eq!(ran.swap(0, SeqCst), want, "node {at} of graph {seed}, run {number}");
                }
                let Err(error) = result else {
                    assert!(failed.is_empty());
                    continue;
                };
                let name = |name: &str| name.parse::<usize>().unwrap();
                assert!(error.failures().iter().map(|failure| name(&failure.name)).eq(failed), "graph {seed}");
                assert!(error.skipped().map(|node| name(node.name())).eq(skipped), "graph {seed}");
            }
        }
    });
}

/// Pipelines with random settings, whose function waits and panics now and then, are cancelled, or
/// lose their reader, at a random moment: each item is given, left, in the source, or was in the
/// hands of the function, once, and the order holds.
#[test]
fn items_of_pipelines() {
    const ITEMS: usize = 200;
    each(&[1, 2, 4], |rt| {
        for seed in 0..60 {
            rt.run(|| {
                let mut rng = Rng(seed);
                let (tasks, window, is_ordered) =
                    (1 + below(&mut rng, 6), below(&mut rng, 20), below(&mut rng, 2) == 0);
                let (panics_at, stop_at) = (below(&mut rng, 3 * ITEMS), below(&mut rng, 2 * ITEMS));
                let is_closed = below(&mut rng, 2) == 0;
                let ((tx, rx), (out_tx, out)) = (unbounded(), bounded(below(&mut rng, 5) + 1));
                (0..ITEMS).for_each(|n| tx.send(n).unwrap());
                drop(tx);
                let lost = Arc::new(AtomicUsize::new(0));
                let in_hand = lost.clone();
                let mut pipeline = Pipeline::new(tasks).window(window);
                if !is_ordered {
                    pipeline = pipeline.unordered();
                }
                let work = pipeline.start(rx.clone(), out_tx, move |n: usize| {
                    in_hand.fetch_add(1, SeqCst);
                    (0..n % 3).for_each(|_| yield_now());
                    assert!(n != panics_at, "planned");
                    in_hand.fetch_sub(1, SeqCst);
                    n
                });
                let mut got: Vec<usize> = out.iter().take(stop_at).collect();
                let out = if is_closed {
                    // (What stands in the channel goes with it.)
                    got.extend(out.try_iter());
                    out.close();
                    out
                } else {
                    work.cancel();
                    out
                };
                let ended = work.join();
                got.extend(out);
                assert!(!is_ordered || got.is_sorted(), "{seed}: {got:?}");
                assert_eq!(got.len() as u64, ended.given, "{seed}: {}", ended.why);
                let behind = ended.left.first().zip(got.last());
                assert!(!is_ordered || behind.is_none_or(|(left, got)| left > got), "{seed}");
                let rest: Vec<usize> = rx.try_iter().collect();
                assert_eq!(ended.taken as usize + rest.len(), ITEMS, "{seed}");
                let lost = lost.load(SeqCst);
                let (seen, all) =
                    (got.len() + ended.left.len() + rest.len(), got.iter().chain(&ended.left).chain(&rest));
                assert_eq!(all.collect::<BTreeSet<_>>().len(), seen, "{seed}: twice");
                match ended.why {
                    Why::SourceEnded => assert_eq!(seen, ITEMS, "{seed}"),
                    Why::TargetClosed => assert_eq!(seen + lost, ITEMS, "{seed}"),
                    // (One whose call was cancelled before it had begun is not counted as in hand.)
                    _ => assert!(seen + tasks >= ITEMS, "{seed}: {seen} of {ITEMS}, {}", ended.why),
                }
            });
        }
    });
}
