//! Static graphs: permits, retries and limits of nodes, callers of all kinds, pictures.

use crate::common::{wait_until, watch};
use crate::each_runtime;
use myriad::channel::unbounded;
use myriad::flow::Graph;
use myriad::sync::{Event, Semaphore};
use myriad::{cancel::Token, spawn, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// 17: at most so many at a time, no worker is held meanwhile, and permits go back in whatever way
/// a body ends.
#[test]
fn permits() {
    each_runtime(|| {
        let (limit, other) = (Semaphore::new(3), Semaphore::new(1));
        let (now, most, seen) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        for at in 0..60 {
            let body = {
                let (now, most) = (&now, &most);
                move || {
                    most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                    (0..3).for_each(|_| myriad::yield_now());
                    now.fetch_sub(1, SeqCst);
                    assert!(at % 10 != 0, "{at}");
                }
            };
            // In both orders, some twice.
            let node = graph.node("limited", body).after([start]);
            match at % 3 {
                0 => node.permits(&limit, 1),
                1 => node.permits(&limit, 1).permits(&other, 1),
                _ => node.permits(&other, 1).permits(&limit, 1).permits(&limit, 1),
            };
            graph.node("free", || _ = seen.fetch_add(1, Relaxed)).after([start]);
        }
        let graph = graph.build().unwrap();
        for _ in 0..5 {
            assert_eq!(graph.run().unwrap_err().failures().len(), 6);
            assert!(most.load(SeqCst) <= 3 && limit.available() == 3 && other.available() == 1);
        }
        assert_eq!(seen.load(Relaxed), 300);
    });
}

/// 17: a body with the permit makes tasks that need it.
#[test]
fn a_body_with_a_permit_spawns_who_needs_it() {
    each_runtime(|| {
        let limit = Arc::new(Semaphore::new(1));
        let (done, dones) = unbounded();
        let mut graph = Graph::builder();
        let spawns = || {
            let (limit, done) = (limit.clone(), done.clone());
            drop(spawn(move || {
                let _permit = limit.acquire();
                done.send(()).unwrap();
            }));
        };
        (0..10).for_each(|_| _ = graph.node("spawns", spawns).permits(&limit, 1));
        graph.build().unwrap().run().unwrap();
        (0..10).for_each(|_| dones.recv().unwrap());
    });
}

/// 18: while a wide layer is offered, another worker has begun with it.
#[test]
fn help_comes_while_a_wide_layer_is_offered() {
    crate::common::each(&[2], |rt| {
        rt.run(|| {
            let _watch = watch("a wide layer");
            let helped = AtomicUsize::new(0);
            let mut graph = Graph::builder();
            let start = graph.node("start", || ()).id();
            // The layer has a body that waits for another worker, and blocks its own.
            for at in 0..1000 {
                let body = {
                    let helped = &helped;
                    move || {
                        helped.fetch_add(1, SeqCst);
                        if at == 0 {
                            wait_until(|| helped.load(SeqCst) > 1);
                        }
                    }
                };
                graph.node("wide", body).after([start]);
            }
            graph.build().unwrap().run().unwrap();
        });
    });
}

/// 19: retries; each call has its time, the wait for permits not counted.
#[test]
fn retries_and_limits() {
    each_runtime(|| {
        let (calls, late) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let fails_twice = || if calls.fetch_add(1, Relaxed) % 3 < 2 { Err("not yet") } else { Ok(()) };
        let good = graph.node("good at last", fails_twice).retries(2).id();
        let panics_once = || assert!(late.fetch_add(1, Relaxed) % 2 == 1);
        let also = graph.node("panics once", panics_once).retries(1).after([good]).id();
        let sleeps = || time::sleep(LONG);
        graph.node("too long", sleeps).time_limit(Duration::from_millis(5)).retries(1).after([also]);
        let graph = graph.build().unwrap();
        for n in 1..=3 {
            let error = graph.run().unwrap_err();
            assert_eq!(error.to_string(), "the node 'too long' was not done within 5ms");
            assert_eq!((calls.load(Relaxed), late.load(Relaxed)), (3 * n, 2 * n));
        }
    });
    let only = Semaphore::new(1);
    let held = only.acquire();
    let mut graph = Graph::builder();
    graph.node("waits first", || ()).permits(&only, 1).time_limit(Duration::from_millis(50));
    let graph = graph.build().unwrap();
    std::thread::scope(|s| {
        let run = s.spawn(|| graph.run());
        std::thread::sleep(Duration::from_millis(150));
        drop(held);
        run.join().unwrap().unwrap();
    });
}

/// From a foreign thread, from a future, and from a future that is dropped.
#[test]
fn other_callers() {
    let ran = Arc::new(AtomicUsize::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let mut graph = Graph::builder();
    let (counts, stops) = (ran.clone(), stop.clone());
    let first = graph.node("first", move || _ = counts.fetch_add(1, Relaxed)).id();
    let sleeps = move || {
        if stops.load(Relaxed) {
            time::sleep(LONG)
        }
    };
    graph.node("second", sleeps).after([first]);
    let graph = Arc::new(graph.build().unwrap());
    graph.run().unwrap();
    myriad::block_on(graph.run_async()).unwrap();
    drop(graph.run_async());
    assert_eq!(ran.load(Relaxed), 2);
    each_runtime(|| {
        stop.store(true, Relaxed);
        let before = ran.load(Relaxed);
        let late = myriad::block_on(time::timeout_async(Duration::from_millis(5), graph.run_async()));
        assert!(late.is_err());
        stop.store(false, Relaxed);
        // The next run waits until that has ended.
        myriad::block_on(graph.run_async()).unwrap();
        let begun = ran.load(Relaxed) - before;
        assert!((1..=2).contains(&begun), "{begun}");
    });
    let graph_of = graph.clone();
    let mut runs = 0;
    graph_of
        .run_until(|| {
            runs += 1;
            runs > 3
        })
        .unwrap();
}

/// A run is written down, and drawn.
#[test]
fn pictures() {
    each_runtime(|| {
        let mut graph = Graph::builder();
        let a = graph.node("a \"quoted\" & <name>", || time::sleep(Duration::from_millis(1))).id();
        let b = graph.node("b", || ()).after([a]).id();
        graph.choice("c", || 1).after([b]).branches([a, b]);
        let d = graph.node("start", || ()).before([a]).id();
        graph.node("beside", || time::sleep(Duration::from_millis(1))).after([d]);
        let times = AtomicUsize::new(0);
        graph.choice("once", || times.fetch_add(1, Relaxed)).after([d]).branches([]);
        let graph = graph.build().unwrap();
        let dot = graph.to_dot();
        assert!(dot.contains("0 [label=\"a \\\"quoted\\\" &amp; <name>\", shape=box];"), "{dot}");
        assert!(dot.contains("    0 -> 1;\n") && dot.contains("2 -> 0 [style=dashed, label=\"0\"];"), "{dot}");
    });
    let mut graph = Graph::builder();
    let first = graph.node("first & <only>", || time::sleep(Duration::from_millis(2))).id();
    graph.node("fails", || Err("no")).after([first]);
    let (result, trace) = graph.build().unwrap().run_traced();
    assert!(result.is_err());
    let spans = trace.spans();
    assert_eq!((spans[0].name.as_str(), spans[1].name.as_str()), ("first & <only>", "fails"));
    assert!(spans[0].end - spans[0].begin >= Duration::from_millis(2) && spans[1].begin >= spans[0].end);
    assert!(trace.duration() >= spans[1].end);
    assert!(trace.to_svg().contains("first &amp; &lt;only&gt;"));
    assert_eq!(trace.to_perfetto().matches("\"ph\":\"X\"").count(), 2);
}

/// Panics of destructors of what a body returns are the node's.
#[test]
fn an_error_whose_destructor_panics() {
    #[derive(Debug)]
    struct Bad;
    impl std::fmt::Display for Bad {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("bad")
        }
    }
    impl std::error::Error for Bad {}
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    // While the run is cancelled, too.
    each_runtime(|| {
        let (token, failed) = (Token::new(), Event::new());
        let mut graph = Graph::builder();
        let fails = || {
            failed.set();
            Err(Bad)
        };
        (0..3).for_each(|_| _ = graph.node("fails", fails));
        graph.node("sleeps", || time::sleep(LONG));
        let graph = graph.build().unwrap();
        myriad::scope(|s| {
            let run = s.spawn(|| token.run(|| graph.run()).is_err());
            failed.wait();
            token.cancel();
            assert!(run.join().unwrap());
        });
    });
    each_runtime(|| {
        let calls = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        let bad = || if calls.fetch_add(1, Relaxed) == 0 { Err(Bad) } else { Ok(()) };
        graph.node("bad once", bad).retries(1);
        graph.build().unwrap().run().unwrap();
        assert_eq!(calls.load(Relaxed), 2);
    });
}
