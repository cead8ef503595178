//! Static graphs: starts by choices between the ends of predecessors, cancellation at any moment,
//! what is dropped with a cancelled run, and the texts of pictures.

use crate::common::{MODES, case};
use crate::each_runtime;
use myriad::flow::Graph;
use myriad::flow::graph::Cause;
use myriad::sync::Event;
use myriad::{cancel::Token, time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

fn must_not_run() {
    panic!("must not run");
}

fn panics_badly() {
    std::panic::panic_any(Bad);
}

struct Bad;

impl Drop for Bad {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

/// 13: a choice that starts a node, of whose predecessors one has not ended, takes nothing from
/// the count of these.
#[test]
fn a_branch_between_the_ends_of_predecessors() {
    each_runtime(|| {
        let (asked, ran) = (Event::new(), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let both = graph.node("both", || {
            if ran.fetch_add(1, Relaxed) % 2 == 0 {
                asked.set();
            }
        });
        let both = both.id();
        let early = graph.node("early", || ()).before([both]).id();
        graph.choice("starts it", || 0).after([early]).branches([both]);
        let late = || {
            asked.wait();
            asked.reset();
        };
        graph.node("late", late).before([both]);
        let graph = graph.build().unwrap();
        for n in 1..=3 {
            graph.run().unwrap();
            assert_eq!(ran.load(Relaxed), 2 * n);
        }
    });
}

/// 2 and 13: what comes after a failed node does not run, also where a choice has started it in
/// between.
#[test]
fn a_branch_after_a_failure() {
    // (One worker, so that the choice goes on after the node that fails has ended.)
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.spare_workers(0),
            |rt| {
                let fails_now = Event::new();
                let mut graph = Graph::builder();
                let both = graph.node("both", must_not_run).id();
                let fails = || {
                    fails_now.set();
                    Err("no paper")
                };
                graph.node("fails", fails).before([both]);
                let choice = || {
                    fails_now.wait();
                    0
                };
                graph.choice("starts it", choice).branches([both]);
                graph.node("late", || (0..50).for_each(|_| myriad::yield_now())).before([both]);
                let graph = graph.build().unwrap();
                for _ in 0..3 {
                    let error = rt.run(|| graph.run()).unwrap_err();
                    assert_eq!(error.failures().len(), 1, "{error}");
                    fails_now.reset();
                }
            },
        );
    }
}

/// 9: bodies that never wait: none begins after the caller was cancelled.
#[test]
fn a_loop_that_never_waits_is_cancelled() {
    each_runtime(|| {
        let (stop, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
        let token = Token::new();
        let mut graph = Graph::builder();
        let start = graph.node("start", || ()).id();
        let body = || {
            if rounds.fetch_add(1, Relaxed) == 10 {
                token.cancel();
            }
        };
        let body = graph.node("body", body).after([start]).id();
        let again = || usize::from(stop.load(Relaxed) || rounds.load(Relaxed) > 1000);
        graph.choice("again", again).after([body]).branches([body]);
        let graph = graph.build().unwrap();
        assert!(token.run(|| graph.run()).is_err());
        assert_eq!(rounds.load(Relaxed), 11);
    });
}

/// 9 and 19: nor is a body called again that fails without a wait.
#[test]
fn retries_end_with_the_token() {
    each_runtime(|| {
        let (token, calls) = (Token::new(), AtomicUsize::new(0));
        let mut graph = Graph::builder();
        let fails = || {
            if calls.fetch_add(1, Relaxed) == 10 {
                token.cancel();
            }
            Err("no paper")
        };
        graph.node("fails", fails).retries(1000).token(&token);
        let error = graph.build().unwrap().run().unwrap_err();
        assert!(matches!(error.failures()[0].cause, Cause::Cancelled), "{error}");
        assert_eq!(calls.load(Relaxed), 11);
    });
}

/// What bodies panicked with is dropped with a run that is cancelled; a panic of its destructor
/// ends no process.
#[test]
fn a_cancelled_run_drops_a_payload_that_panics() {
    each_runtime(|| {
        let token = Token::new();
        let mut graph = Graph::builder();
        (0..2).for_each(|_| _ = graph.node("panics", panics_badly));
        let cancels = || {
            (0..20).for_each(|_| myriad::yield_now());
            token.cancel();
            time::sleep(Duration::from_secs(3600));
        };
        graph.node("cancels", cancels);
        let graph = graph.build().unwrap();
        assert!(token.run(|| graph.run()).is_err());
    });
}

/// Nor does an error of several of these.
#[test]
fn an_error_drops_payloads_that_panic() {
    each_runtime(|| {
        let mut graph = Graph::builder();
        (0..3).for_each(|_| _ = graph.node("panics", panics_badly));
        drop(graph.build().unwrap().run().unwrap_err());
    });
}

/// The cancellation of another task, with which a body goes on, is an error of that node.
#[test]
fn a_body_that_resumes_a_cancellation_of_another_task() {
    each_runtime(|| {
        let ran = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        let resumes = || {
            let sleeper = myriad::spawn(|| time::sleep(Duration::from_secs(3600)));
            sleeper.cancel();
            sleeper.join().unwrap_or_else(|error| error.resume());
        };
        let resumes = graph.node("resumes", resumes).id();
        graph.node("after", must_not_run).after([resumes]);
        graph.node("other", || _ = ran.fetch_add(1, Relaxed));
        let error = graph.build().unwrap().run().unwrap_err();
        assert_eq!((error.failures().len(), error.skipped().len()), (1, 1));
        assert_eq!(ran.load(Relaxed), 1);
    });
}

/// XML has no characters for control, also not as numbers.
#[test]
fn names_with_control_characters() {
    let mut graph = Graph::builder();
    graph.node("a\0b\u{7}c\u{1b}[1m\u{ffff}\td", || ());
    let graph = graph.build().unwrap();
    let (_, trace) = graph.run_traced();
    let svg = trace.to_svg();
    assert!(!svg.chars().any(|c| (c < ' ' && c != '\t' && c != '\n') || c == '\u{ffff}'), "{svg:?}");
    assert!(!graph.to_dot().contains('\0'));
}

/// 9 and 12: runs are cancelled at any moment: no node runs twice or too early, and the next run is
/// whole.
#[test]
fn cancelled_at_any_moment() {
    crate::common::each(&[1, 4], |rt| {
        rt.run(|| {
            const N: usize = 60;
            let counts: Vec<AtomicUsize> = (0..N).map(|_| AtomicUsize::new(0)).collect();
            let ended: Vec<AtomicUsize> = (0..N).map(|_| AtomicUsize::new(0)).collect();
            let mut graph = Graph::builder();
            let mut ids = Vec::new();
            for at in 0..N {
                let before: Vec<usize> =
                    if at == 0 { vec![] } else { (1..=3).map(|k| at * k / 4).filter(|&b| b < at).collect() };
                let after: Vec<_> = before.iter().map(|&b: &usize| ids[b]).collect();
                let (counts, ended) = (&counts, &ended);
                let body = move || {
                    counts[at].fetch_add(1, Relaxed);
                    assert!(before.iter().all(|&b| ended[b].load(Relaxed) == 1));
                    if at % 7 == 3 {
                        myriad::yield_now();
                    }
                    ended[at].fetch_add(1, Relaxed);
                };
                ids.push(graph.node(format!("{at}"), body).after(after).id());
            }
            let graph = graph.build().unwrap();
            for round in 0..500_usize {
                counts.iter().chain(&ended).for_each(|c| c.store(0, Relaxed));
                let token = Token::new();
                myriad::scope(|s| {
                    let run = s.spawn(|| token.run(|| graph.run()));
                    (0..round % 90)
                        .for_each(|_| if round % 2 == 0 { myriad::yield_now() } else { std::hint::spin_loop() });
                    token.cancel();
                    if let Ok(result) = run.join().unwrap() {
                        result.unwrap();
                    }
                });
                assert!(counts.iter().all(|c| c.load(Relaxed) <= 1));
                counts.iter().chain(&ended).for_each(|c| c.store(0, Relaxed));
                graph.run().unwrap();
                assert!(counts.iter().all(|c| c.load(Relaxed) == 1));
            }
        });
    });
}

/// Runs from where a task may not move, is not cancelled, or is none; and time limits around runs.
#[test]
fn runs_from_other_places() {
    each_runtime(|| {
        let ran = AtomicUsize::new(0);
        let mut graph = Graph::builder();
        let start = graph.node("start", || _ = ran.fetch_add(1, Relaxed)).id();
        for _ in 0..30 {
            let body = || {
                myriad::yield_now();
                ran.fetch_add(1, Relaxed);
            };
            graph.node("", body).after([start]);
        }
        let graph = graph.build().unwrap();
        myriad::blocking(|| graph.run().unwrap());
        myriad::task::keep_thread(|| graph.run().unwrap());
        myriad::cancel::shield(|| graph.run().unwrap());
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| graph.run_n(20).unwrap());
            }
        });
        assert_eq!(ran.load(Relaxed), 43 * 31);
        for n in 0..30 {
            _ = myriad::time::timeout(Duration::from_micros(n * 7), || graph.run());
        }
        ran.store(0, Relaxed);
        graph.run().unwrap();
        assert_eq!(ran.load(Relaxed), 31);
        // A shield within a cancelled task.
        let token = Token::new();
        let shielded = || {
            token.cancel();
            myriad::cancel::shield(|| graph.run().unwrap());
        };
        _ = token.run(shielded);
        assert_eq!(ran.load(Relaxed), 62);
    });
}
