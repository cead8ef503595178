//! Static graphs.

use crate::each_runtime;
use myriad::channel::bounded;
use myriad::flow::Graph;
use myriad::flow::graph::{BuildError, Cause, NodeId, RunError};
use myriad::sync::Event;
use myriad::{cancel::Token, spawn, time};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

fn must_not_run() {
    panic!("must not run");
}

fn out_of_ink() {
    panic!("out of ink");
}

fn names(error: &RunError) -> (Vec<String>, Vec<String>) {
    let failed = error.failures().iter().map(|failure| failure.name.clone()).collect();
    (failed, error.skipped().map(|skipped| skipped.path().join(" ")).collect())
}

/// 1.
#[test]
fn a_circle_is_refused_and_named() {
    let mut graph = Graph::builder();
    let start = graph.node("start", || ()).id();
    let a = graph.node("a", || ()).after([start]).id();
    let b = graph.node("b", || ()).after([a]).id();
    let c = graph.node("c", || ()).after([b, start]).before([a]).id();
    graph.node("behind", || ()).after([c]);
    let error = graph.build().unwrap_err();
    let BuildError::Cycle(mut names) = error.clone() else { panic!("{error}") };
    assert!(error.to_string().contains("wait for each other"), "{error}");
    let a = names.iter().position(|name| name == "a").unwrap();
    names.rotate_left(a);
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_node_after_itself_is_a_circle() {
    let mut graph = Graph::builder();
    let a = graph.node("a", || ()).id();
    graph.node("b", || ()).before([a]).after([a]);
    assert!(matches!(graph.build(), Err(BuildError::Cycle(names)) if names.len() == 2));
    let mut graph = Graph::builder();
    let node = graph.node("a", || ());
    let id = node.id();
    node.after([id]);
    assert_eq!(graph.build().unwrap_err(), BuildError::Cycle(vec!["a".into()]));
}

#[test]
fn only_branches_are_no_start() {
    let mut graph = Graph::builder();
    let a = graph.choice("a", || 0).id();
    graph.choice("b", || 0).branches([a]).after([a]);
    assert_eq!(graph.build().unwrap_err(), BuildError::NoStart);
    assert!(Graph::builder().build().unwrap().run().is_ok());
}

#[test]
#[should_panic(expected = "of another graph")]
fn a_node_of_another_graph() {
    let strange = Graph::builder().node("strange", || ()).id();
    Graph::builder().node("a", || ()).after([strange]);
}

/// Layers of nodes, each after some of the layer before: nobody begins before these have ended.
#[test]
fn the_order_holds() {
    each_runtime(|| {
        const N: usize = 3000;
        let ended: Vec<AtomicUsize> = (0..N).map(|_| AtomicUsize::new(0)).collect();
        let run = AtomicUsize::new(1);
        let mut graph = Graph::builder();
        let mut ids: Vec<NodeId> = Vec::new();
        let mut seed = 1_usize;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for at in 0..N {
            let before: Vec<usize> = if at == 0 { vec![] } else { (0..random(4)).map(|_| random(at)).collect() };
            let after: Vec<NodeId> = before.iter().map(|&b| ids[b]).collect();
            let (ended, run) = (&ended, &run);
            let body = move || {
                let run = run.load(Relaxed);
                assert!(before.iter().all(|&b| ended[b].load(Relaxed) == run));
                assert_eq!(ended[at].swap(run, Relaxed), run - 1);
            };
            ids.push(graph.node(format!("{at}"), body).after(after).id());
        }
        let graph = graph.build().unwrap();
        for _ in 0..5 {
            graph.run().unwrap();
            assert!(ended.iter().all(|ended| ended.load(Relaxed) == run.load(Relaxed)));
            run.fetch_add(1, Relaxed);
        }
    });
}

/// 2 and 3: what comes after a failed node is skipped, also where it has other predecessors; the
/// rest runs. Of two failed ones, the one that was added first is the first.
#[test]
fn failures_skip_what_comes_after() {
    each_runtime(|| {
        let ran = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        let count = || _ = ran.fetch_add(1, Relaxed);
        let fine = graph.node("fine", count).id();
        let panics = graph.node("panics", out_of_ink).id();
        let fails = graph.node("fails", || Err("no paper")).id();
        let both = graph.node("both", must_not_run).after([fine, fails, panics]).id();
        graph.node("end", must_not_run).after([both]);
        graph.node("other", count).after([fine]);
        let graph = graph.build().unwrap();
        for _ in 0..3 {
            ran.store(0, Relaxed);
            let error = graph.run().unwrap_err();
            let (failed, skipped) = names(&error);
            assert_eq!(failed, ["panics", "fails"]);
            assert_eq!(skipped, ["panics both", "panics both end"]);
            assert!(error.to_string().starts_with("the node 'panics' panicked: out of ink; another one"), "{error}");
            assert_eq!(ran.load(Relaxed), 2);
            let mut causes = error.into_failures();
            assert!(matches!(&causes[1].cause, Cause::Error(error) if error.to_string() == "no paper"));
            let Cause::Panicked(panic) = causes.remove(0).cause else { panic!() };
            assert_eq!(panic.into_payload().downcast_ref(), Some(&"out of ink"));
        }
    });
}

/// 6 and 18, in part: long and wide graphs take no stack, and each node runs.
#[test]
fn long_and_wide() {
    each_runtime(|| {
        const N: usize = 100_000;
        let ran = AtomicUsize::new(0);
        let count = || _ = ran.fetch_add(1, Relaxed);
        let mut graph = Graph::builder();
        let mut last = graph.node("", count).id();
        for _ in 1..N {
            last = graph.node("", count).after([last]).id();
        }
        let wide: Vec<NodeId> = (0..N).map(|_| graph.node("", count).after([last]).id()).collect();
        graph.node("", count).after(wide);
        let graph = graph.build().unwrap();
        graph.run().unwrap();
        assert_eq!(ran.load(Relaxed), 2 * N + 1);
    });
}

/// 6: a failure at the head of a long chain skips all of it, quickly.
#[test]
fn a_long_chain_is_skipped() {
    each_runtime(|| {
        const N: usize = 100_000;
        let mut graph = Graph::builder();
        let mut last = graph.node("first", || Err("fails")).id();
        for _ in 1..N {
            last = graph.node("", must_not_run).after([last]).id();
        }
        let error = graph.build().unwrap().run().unwrap_err();
        assert_eq!(error.skipped().len(), N - 1);
        assert_eq!(error.skipped().last().unwrap().path().len(), N);
    });
}

/// 9: a token cancels a part. A body that runs unwinds at its next wait, one that has not begun
/// does not begin, what comes after them is skipped, and the rest runs.
#[test]
fn a_part_is_cancelled() {
    each_runtime(|| {
        let token = Token::new();
        let (begun, ended) = (Event::new(), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        let sleeps = || {
            begun.set();
            time::sleep(LONG);
        };
        let first = graph.node("sleeps", sleeps).after([start]).token(&token).id();
        graph.node("after it", must_not_run).after([first]);
        let cancels = || {
            begun.wait();
            token.cancel();
        };
        let cancels = graph.node("cancels", cancels).after([start]).id();
        let late = graph.node("late", must_not_run).after([cancels]).token(&token).id();
        graph.node("after late", must_not_run).after([late]);
        graph.node("rest", || _ = ended.fetch_add(1, Relaxed)).after([cancels]);
        let error = graph.build().unwrap().run().unwrap_err();
        assert_eq!(names(&error).0, ["sleeps", "late"]);
        assert_eq!(names(&error).1, ["sleeps after it", "late after late"]);
        assert!(error.failures().iter().all(|failure| matches!(failure.cause, Cause::Cancelled)));
        assert_eq!(ended.load(Relaxed), 1);
    });
}

/// 9: the whole run is cancelled with its caller, and the graph runs again.
#[test]
fn a_run_is_cancelled_with_its_caller() {
    each_runtime(|| {
        let (begun, again, ran) = (Event::new(), AtomicBool::new(false), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        let sleeps: Vec<NodeId> = (0..100)
            .map(|_| {
                let sleeps = || {
                    ran.fetch_add(1, Relaxed);
                    if !again.load(Relaxed) {
                        begun.set();
                        time::sleep(LONG);
                    }
                };
                graph.node("sleeps", sleeps).after([start]).id()
            })
            .collect();
        graph.node("end", || _ = ran.fetch_add(1, Relaxed)).after(sleeps);
        let graph = graph.build().unwrap();
        for _ in 0..20 {
            let token = Token::new();
            begun.reset();
            again.store(false, Relaxed);
            myriad::scope(|s| {
                let run = s.spawn(|| token.run(|| graph.run()));
                begun.wait();
                token.cancel();
                assert!(run.join().unwrap().is_err());
            });
            again.store(true, Relaxed);
            ran.store(0, Relaxed);
            graph.run().unwrap();
            assert_eq!(ran.load(Relaxed), 101);
        }
    });
}

/// The cancellation of another task, which a body has joined, is an error as any other.
#[test]
fn a_body_that_joins_what_was_cancelled() {
    each_runtime(|| {
        let ran = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        let joins = || -> Result<(), myriad::JoinError> {
            let sleeper = spawn(|| time::sleep(LONG));
            sleeper.cancel();
            sleeper.join()
        };
        graph.node("joins", joins).after([start]);
        graph.node("other", || _ = ran.fetch_add(1, Relaxed)).after([start]);
        let error = graph.build().unwrap().run().unwrap_err();
        assert_eq!(names(&error).0, ["joins"]);
        assert_eq!(ran.load(Relaxed), 1);
    });
}

/// 10: a body may wait for another node of its run.
#[test]
fn a_body_waits_for_another() {
    each_runtime(|| {
        let (tx, rx) = bounded(1);
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        let sum = AtomicUsize::new(0);
        // (In both orders: one of them is the first in the task.)
        for number in 0..2 {
            graph.node("receives", || _ = sum.fetch_add(rx.recv().unwrap(), Relaxed)).after([start]);
            let tx = &tx;
            graph.node("sends", move || tx.send(number).unwrap()).after([start]);
        }
        graph.node("many", || (0..10).for_each(|_| myriad::yield_now())).after([start]);
        graph.build().unwrap().run_n(100).unwrap();
        assert_eq!(sum.load(Relaxed), 100);
    });
}

/// 11: a graph within a body, deep.
#[test]
fn graphs_nest() {
    each_runtime(|| {
        let ran = AtomicUsize::new(0);
        let mut inner = Graph::builder();
        (0..10).for_each(|_| _ = inner.node("inner", || _ = ran.fetch_add(1, Relaxed)));
        let mut inner = inner.build().unwrap();
        for _ in 0..100 {
            let within = inner;
            let mut outer = Graph::builder();
            let before = outer.node("before", || ()).id();
            outer.node("sub-graph", move || within.run()).after([before]);
            inner = outer.build().unwrap();
        }
        inner.run_n(10).unwrap();
        assert_eq!(ran.load(Relaxed), 100);
    });
}

#[test]
fn the_error_of_a_graph_within_is_the_source() {
    let mut inner = Graph::builder();
    inner.node("deep", || Err("no paper"));
    let inner = inner.build().unwrap();
    let mut outer = Graph::builder();
    outer.node("sub-graph", || inner.run());
    let error = outer.build().unwrap().run().unwrap_err();
    let source = std::error::Error::source(&error).unwrap().downcast_ref::<RunError>().unwrap();
    assert_eq!(names(source).0, ["deep"]);
}

/// 12: runs take turns; a failed one leaves no counts behind.
#[test]
fn runs_take_turns() {
    each_runtime(|| {
        let (running, ran) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let begin = graph.node("begin", || assert!(!running.swap(true, SeqCst))).id();
        let middle: Vec<NodeId> = (0..10).map(|_| graph.node("", myriad::yield_now).after([begin]).id()).collect();
        let end = || {
            assert!(running.swap(false, SeqCst));
            ran.fetch_add(1, Relaxed);
        };
        graph.node("end", end).after(middle);
        let graph = graph.build().unwrap();
        myriad::scope(|s| (0..20).for_each(|_| drop(s.spawn(|| graph.run_n(10).unwrap()))));
        assert_eq!(ran.load(Relaxed), 200);
    });
}

#[test]
fn failed_and_good_runs_alternate() {
    each_runtime(|| {
        let (run, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let a = graph.node("a", || _ = run.fetch_add(1, Relaxed)).id();
        let b = graph.node("b", || assert!(run.load(Relaxed) % 2 == 0, "odd")).after([a]).id();
        let c = graph.node("c", || ()).after([a]).id();
        graph.node("d", || _ = ran.fetch_add(1, Relaxed)).after([b, c]);
        let graph = graph.build().unwrap();
        for n in 1..=1000 {
            assert_eq!(graph.run().is_ok(), n % 2 == 0);
            assert_eq!(ran.load(Relaxed), n / 2);
        }
    });
}

/// 13: branches and loops. A node that is a branch and comes after others runs for either.
#[test]
fn choices() {
    each_runtime(|| {
        let log = Mutex::new(String::new());
        let note = |letter: char| {
            let log = &log;
            move || log.lock().unwrap().push(letter)
        };
        let mut graph = Graph::builder();
        let start = graph.node("start", note('s')).id();
        let body = graph.node("body", note('b')).after([start]).id();
        let left = graph.node("left", note('l')).id();
        let right = graph.node("right", note('r')).id();
        let rounds = AtomicUsize::new(0);
        let third = || if rounds.fetch_add(1, Relaxed) % 3 == 2 { 1 } else { 0 };
        graph.choice("third?", third).after([body]).branches([body, left]);
        // A number without a branch starts nothing.
        graph.choice("none", || 7).after([left]).branches([right]);
        graph.node("end", note('e')).after([left]);
        let graph = graph.build().unwrap();
        for _ in 0..3 {
            graph.run().unwrap();
            assert_eq!(std::mem::take(&mut *log.lock().unwrap()), "sbbble");
        }
        // With both kinds of edges: once for the order, and once more for the choice.
        let mut graph = Graph::builder();
        let both = graph.node("both", note('x')).id();
        let first = graph.node("first", note('f')).before([both]).id();
        let asks = AtomicUsize::new(0);
        graph.choice("again?", || asks.fetch_add(1, Relaxed) % 2).after([both]).branches([both]);
        let graph = graph.build().unwrap();
        _ = first;
        graph.run().unwrap();
        assert_eq!(*log.lock().unwrap(), "fxx");
    });
}

/// 13 and 2: a failure within a loop ends it.
#[test]
fn a_failure_ends_a_loop() {
    each_runtime(|| {
        let rounds = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        let third = || if rounds.fetch_add(1, Relaxed) == 2 { Err("third") } else { Ok(()) };
        let body = graph.node("body", third).after([start]).id();
        graph.choice("again", || 0).after([body]).branches([body]);
        let error = graph.build().unwrap().run().unwrap_err();
        assert_eq!(names(&error), (vec!["body".into()], vec!["body again".into()]));
        assert_eq!(rounds.load(Relaxed), 3);
    });
}

/// A narrow chain of nodes that let others go first, beside a wide layer: all run.
#[test]
fn a_chain_beside_a_wide_layer() {
    each_runtime(|| {
        let ran = AtomicUsize::new(0);
        let count = || _ = ran.fetch_add(1, Relaxed);
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        (0..1000).for_each(|_| _ = graph.node("wide", count).after([start]));
        let mut last = start;
        for _ in 0..100 {
            last = graph.node("chain", myriad::yield_now).after([last]).id();
        }
        graph.node("end", count).after([last]);
        graph.build().unwrap().run().unwrap();
        assert_eq!(ran.load(Relaxed), 1001);
    });
}

/// 16: the first that is ready runs where its predecessor ran.
#[test]
fn the_next_runs_in_place() {
    each_runtime(|| {
        let places = Mutex::new(std::collections::HashSet::new());
        let note = || _ = places.lock().unwrap().insert(myriad::task::current().unwrap().id());
        let mut graph = Graph::builder();
        let mut last = graph.node("", note).id();
        for _ in 0..100 {
            last = graph.node("", note).after([last]).id();
        }
        graph.build().unwrap().run().unwrap();
        assert_eq!(places.lock().unwrap().len(), 1);
    });
}
