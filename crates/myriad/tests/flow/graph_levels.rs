//! Static graphs: the critical path first.

use crate::common::{Mode, Rng, case, each, each_with};
use crate::each_runtime;
use myriad::cancel::Token;
use myriad::flow::Graph;
use myriad::{Policy, Runtime};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// (No spares: else another thread begins what waits, if the machine lets the worker stand still.)
fn on_one_worker(body: impl Fn(&Runtime)) {
    each_with(&[1], |builder| builder.spare_workers(0), |_, rt| body(rt));
}

/// 15: a narrow long chain beside a wide diamond, which was added first: so many bodies have run
/// when the chain is at its end.
fn steps_to_the_end_of_a_chain(chain: usize, width: usize, is_first: bool) -> usize {
    let (steps, end) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let step = || _ = steps.fetch_add(1, SeqCst);
    let mut graph = Graph::builder();
    if is_first {
        graph.critical_path_first();
    }
    let source = graph.node("source", step).id();
    let middle: Vec<_> = (0..width).map(|_| graph.node("middle", step).after([source]).id()).collect();
    graph.node("sink", step).after(middle);
    let mut last = source;
    for _ in 1..chain {
        last = graph.node("link", step).after([last]).id();
    }
    graph.node("end", || end.store(steps.load(SeqCst) + 1, SeqCst)).after([last]);
    let graph = graph.build().unwrap();
    for _ in 0..3 {
        steps.store(0, SeqCst);
        graph.run().unwrap();
        // (The last one does not count itself.)
        assert_eq!(steps.load(SeqCst), chain + width + 1);
    }
    end.load(SeqCst)
}

#[test]
fn a_long_chain_beside_a_wide_diamond() {
    on_one_worker(|rt| {
        rt.run(|| {
            const CHAIN: usize = 1500;
            let steps = steps_to_the_end_of_a_chain(CHAIN, 8000, true);
            assert!(steps * 10 <= CHAIN * 12, "{steps}");
            // (That the test can fail: without it the chain has its turn when it has. The
            // depth-first policy goes on with the chain anyway.)
            if std::env::var_os("MYRIAD_POLICY").is_none_or(|policy| policy != "depth-first") {
                assert!(steps_to_the_end_of_a_chain(CHAIN, 8000, false) * 10 > CHAIN * 12);
            }
        });
    });
    each(&[2, 4], |rt| {
        rt.run(|| assert!(steps_to_the_end_of_a_chain(200, 2000, true) > 200));
    });
}

/// A task that has run many nodes offers the next one, which has its turn before lower ones.
#[test]
fn a_long_chain_under_the_depth_first_policy() {
    let rt = myriad::Builder::new().workers(1).spare_workers(0).policy(Policy::DepthFirst).build().unwrap();
    let steps = rt.run(|| steps_to_the_end_of_a_chain(1500, 8000, true));
    assert!(steps * 10 <= 1500 * 12, "{steps}");
}

/// Random graphs with random weights, on one worker.
#[test]
fn the_highest_that_is_ready() {
    on_one_worker(|rt| {
        let mut rng = Rng(7);
        for round in 0..40 {
            let count = 1 + rng.below(150) as usize;
            let weights: Vec<u32> = (0..count).map(|_| rng.below(20) as u32).collect();
            let edges: Vec<(usize, usize)> = (1..count)
                .flat_map(|to| (0..rng.below(4)).map(|_| (rng.below(to as u64) as usize, to)).collect::<Vec<_>>())
                .collect();
            // (Some against the order in which they are added.)
            let place = |at: usize| if round % 2 == 0 { at } else { count - 1 - at };
            let seen = Mutex::new(Vec::new());
            let mut graph = Graph::builder();
            let mut nodes = vec![None; count];
            for added in 0..count {
                let (at, seen) = (place(added), &seen);
                let node = graph.node("node", move || seen.lock().unwrap().push(at)).weight(weights[at]);
                nodes[at] = Some(node.id());
                let known = edges.iter().filter(|(from, to)| (*from == at) || (*to == at));
                let (mut before, mut after) = (Vec::new(), Vec::new());
                for &(from, to) in known {
                    if to == at {
                        after.extend(nodes[from]);
                    } else {
                        before.extend(nodes[to]);
                    }
                }
                node.after(after).before(before);
            }
            let graph = graph.build().unwrap();
            let mut levels: Vec<u64> = weights.iter().map(|weight| u64::from((*weight).max(1))).collect();
            for at in (0..count).rev() {
                let later = edges.iter().filter(|(from, _)| *from == at).map(|(_, to)| levels[*to]).max();
                levels[at] += later.unwrap_or(0);
            }
            for _ in 0..2 {
                rt.run(|| graph.run().unwrap());
                let order = std::mem::take(&mut *seen.lock().unwrap());
                assert_eq!(order, expected(&levels, &edges, place), "round {round}");
            }
        }
    });
}

/// In which order one worker runs them; of two on one level that which was added first.
fn expected(levels: &[u64], edges: &[(usize, usize)], place: impl Fn(usize) -> usize) -> Vec<usize> {
    let count = levels.len();
    let mut left: Vec<HashSet<usize>> = vec![HashSet::new(); count];
    edges.iter().for_each(|(from, to)| _ = left[*to].insert(*from));
    let rank = |at: &usize| (levels[*at], count - place(*at));
    let mut waiting: Vec<usize> = (0..count).filter(|at| left[*at].is_empty()).collect();
    let (mut order, mut next) = (Vec::new(), None);
    loop {
        waiting.sort_by_key(rank);
        let Some(at) = next.take().or_else(|| waiting.pop()) else { return order };
        order.push(at);
        let mut ready: Vec<usize> = (0..count).filter(|to| left[*to].remove(&at) && left[*to].is_empty()).collect();
        ready.sort_by_key(rank);
        next = ready.pop();
        waiting.extend(ready);
    }
}

/// Each runs once, after those in front of it, on several workers; some fail.
#[test]
fn in_order_on_several_workers() {
    each_runtime(|| {
        let mut rng = Rng(11);
        for round in 0..20 {
            const COUNT: usize = 300;
            let ends: Vec<AtomicUsize> = (0..COUNT).map(|_| AtomicUsize::new(0)).collect();
            let runs = AtomicUsize::new(1);
            let mut graph = Graph::builder();
            graph.critical_path_first();
            let mut ids = Vec::new();
            for at in 0..COUNT {
                let before: Vec<usize> =
                    (0..rng.below(3).min(at as u64)).map(|_| rng.below(at as u64) as usize).collect();
                let ids_before: Vec<_> = before.iter().map(|at| ids[*at]).collect();
                let (ends, runs) = (&ends, &runs);
                let body = move || {
                    let run = runs.load(SeqCst);
                    assert!(before.iter().all(|at| ends[*at].load(SeqCst) == run));
                    assert_eq!(ends[at].swap(run, SeqCst), run - 1);
                    if at % 50 == 49 && round % 2 == 1 { Err("planned") } else { Ok(()) }
                };
                ids.push(graph.node("node", body).after(ids_before).weight(rng.below(9) as u32).id());
            }
            let graph = graph.build().unwrap();
            if round % 2 == 0 {
                for run in 1..4 {
                    runs.store(run, SeqCst);
                    graph.run().unwrap();
                }
            } else {
                let error = graph.run().unwrap_err();
                let ran = ends.iter().filter(|end| end.load(SeqCst) == 1).count();
                assert_eq!(ran + error.skipped().count(), COUNT);
                assert!(!error.failures().is_empty());
            }
        }
    });
}

/// Choices, loops, parts that are cancelled, runs that are.
#[test]
fn with_all_else_that_graphs_have() {
    each_runtime(|| {
        // A loop beside a wide row.
        let (tosses, others) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        graph.critical_path_first();
        let start = graph.node("start", || ()).id();
        let toss = graph.node("toss", || _ = tosses.fetch_add(1, SeqCst)).after([start]).weight(50).id();
        let done = graph.node("done", || ()).id();
        graph.choice("enough?", || usize::from(tosses.load(SeqCst) % 5 == 0)).after([toss]).branches([toss, done]);
        (0..50).for_each(|_| _ = graph.node("other", || _ = others.fetch_add(1, SeqCst)).after([start]));
        let graph = graph.build().unwrap();
        graph.run_n(3).unwrap();
        assert_eq!((tosses.load(SeqCst), others.load(SeqCst)), (15, 150));

        // A run that is cancelled in the middle, and then another one.
        let (token, cancels) = (Token::new(), AtomicUsize::new(1));
        let ran = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        graph.critical_path_first();
        let mut last = graph.node("start", || ()).id();
        for at in 0..100 {
            let (token, cancels, ran) = (&token, &cancels, &ran);
            let link = graph.node("link", move || {
                ran.fetch_add(1, SeqCst);
                if at == 50 && cancels.load(SeqCst) == 1 {
                    token.cancel();
                    myriad::yield_now();
                }
            });
            let link = link.after([last]).id();
            graph.node("beside", move || _ = ran.fetch_add(1, SeqCst)).after([last]);
            last = link;
        }
        let graph = graph.build().unwrap();
        assert!(token.run(|| graph.run()).is_err());
        assert!(ran.swap(0, SeqCst) < 200);
        cancels.store(0, SeqCst);
        for _ in 0..2 {
            graph.run().unwrap();
            assert_eq!(ran.swap(0, SeqCst), 200);
        }
    });
    case(
        Mode::Threads,
        2,
        |b| b,
        |rt| {
            // No node, and one.
            let mut graph = Graph::builder();
            graph.critical_path_first();
            rt.run(|| graph.build().unwrap().run().unwrap());
            let mut graph = Graph::builder();
            graph.node("one", || ()).weight(0);
            rt.run(|| graph.build().unwrap().run().unwrap());
        },
    );
}
