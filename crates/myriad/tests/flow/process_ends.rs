//! Networks of processes: how they end, and what panics.

use crate::common::{Drops, each_with, locked, wait_until};
use crate::each_runtime;
use myriad::Unhandled;
use myriad::channel::{rendezvous, unbounded};
use myriad::flow::process::*;
use myriad::sync::Event;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(50);

/// A chain of three, and how it has ended in this way.
fn ended_by(end: impl FnOnce(Running) -> Finished) -> Finished {
    let mut net = Network::builder();
    let numbers = net.source("numbers", || 0..);
    let (number, same) = net.flat_map("same", |n: u64| Some(n));
    let last = net.sink("last", |_: u64| ());
    net.connect(numbers, number).connect(same, last);
    let net = net.build().unwrap();
    end(net.start())
}

/// At any moment, also before it has begun; no task is left, which the end of each runtime checks.
#[test]
fn a_stop_leaves_nothing() {
    each_runtime(|| {
        for round in 0..30 {
            let ended = ended_by(|run| {
                (0..round).for_each(|_| myriad::yield_now());
                match round % 3 {
                    0 => run.pause(),
                    1 => run.process("last").unwrap().pause(),
                    _ => {}
                }
                if round % 2 == 0 {
                    run.stop()
                } else {
                    run.cancel()
                }
                run.join()
            });
            let expected = if round % 2 == 0 { EndReason::Stopped } else { EndReason::Cancelled };
            // (Who ends first closes what the others read, or give to.)
            let known = |why: &EndReason| [&expected, &EndReason::InputsEnded, &EndReason::NobodyReads].contains(&why);
            assert!(ended.processes.iter().all(|end| known(&end.why)), "{ended:?}");
            assert!(!ended.is_complete());
        }
    });
}

/// A handle that goes stops its network: in the middle, by a limit around the wait for its end, or
/// as a future. One that is detached does not.
#[test]
fn a_handle_that_goes() {
    each_runtime(|| {
        let mut net = Network::builder();
        let (tx, rx) = unbounded();
        let alive = Arc::new(AtomicUsize::new(0));
        let inside = alive.clone();
        let last = net.process(
            "last",
            || (),
            |p| {
                p.on_transition(move |(), transition, _| match transition {
                    Transition::Start => _ = inside.fetch_add(1, SeqCst),
                    Transition::Stop => _ = inside.fetch_sub(1, SeqCst),
                    _ => {}
                });
                p.input("in", move |(), n: i32, _| tx.send(n).unwrap())
            },
        );
        let numbers = net.source("numbers", || 0..);
        net.connect(numbers, last);
        let net = net.build().unwrap();
        for kind in 0..3 {
            let run = net.start();
            rx.recv().unwrap();
            match kind {
                0 => drop(run),
                1 => assert!(myriad::time::timeout(Duration::from_millis(1), || run.join()).is_err()),
                _ => drop(run.into_future()),
            }
            wait_until(|| alive.load(SeqCst) == 0);
        }
        let mut net = Network::builder();
        let (tx, rx) = rendezvous();
        let numbers = net.source("numbers", || 0..10);
        let last = net.sink("last", move |n: i32| tx.send(n).unwrap());
        net.connect(numbers, last);
        net.build().unwrap().start().detach();
        assert!((0..10).all(|n| rx.recv() == Ok(n)));
    });
}

/// A source that waits for its next message, and a step that waits.
#[test]
fn those_that_wait() {
    each_runtime(|| {
        let (never_tx, never) = rendezvous::<i32>();
        let never_set = Arc::new(Event::new());
        let mut net = Network::builder();
        let numbers = net.source("numbers", move || never.clone());
        let waits = never_set.clone();
        let last = net.sink("last", move |_: i32| waits.wait());
        net.connect(numbers, last);
        let net = net.build().unwrap();
        let run = net.start();
        wait_until(|| !run.process("numbers").unwrap().ping(Duration::from_millis(1)).answered);
        run.stop();
        let ended = run.join();
        assert_eq!(ended.process("numbers").unwrap().why, EndReason::Stopped);

        let run = net.start();
        never_tx.send(1).unwrap();
        let stuck = run.process("last").unwrap();
        wait_until(|| stuck.ping(Duration::from_millis(1)).activity == Activity::InStep("in".into()));
        run.cancel();
        let ended = run.join();
        assert!(ended.processes.iter().all(|end| end.why == EndReason::Cancelled && end.panics == 0), "{ended:?}");
    });
}

/// What becomes of one whose step panics: its state, its messages, and its neighbours.
#[test]
fn panics_in_steps() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Way {
        End,
        Init,
        Keep,
        Restore,
    }
    each_runtime(|| {
        for way in [Way::End, Way::Init, Way::Keep, Way::Restore] {
            let (tx, rx) = unbounded();
            let mut net = Network::builder();
            let (each, sums) = net.process(
                "sum",
                || 100,
                |p| {
                    match way {
                        Way::End => {}
                        Way::Init => p.on_panic(OnPanic::Init),
                        Way::Keep => p.on_panic(OnPanic::Keep),
                        Way::Restore => p.restore_on_panic(),
                    }
                    p.show(|sum| format!("sum {sum}"));
                    let sums = p.output("sums");
                    let each = p.input_kept("each", move |sum, n: i32, out| {
                        *sum += n;
                        // (What a step gives before it panics is not given.)
                        out.give(sums, *sum);
                        out.report(format!("{n}"));
                        assert!(n != 3, "planned: three");
                    });
                    (each, sums)
                },
            );
            let last = net.sink("last", move |sum: i32| tx.send(sum).unwrap());
            net.connect(sums, last);
            let run = net.build().unwrap().start();
            let injected = run.inject(each, [1, 2, 3]);
            injected.unwrap();
            let error = run.errors().recv().unwrap();
            let (outcome, expected) = match way {
                Way::End => (Outcome::Ended, vec![101, 103]),
                Way::Init => (Outcome::Initialised, vec![101, 103, 104]),
                Way::Keep => (Outcome::Kept, vec![101, 103, 110]),
                Way::Restore => (Outcome::Restored, vec![101, 103, 107]),
            };
            assert_eq!(error.outcome, outcome);
            assert_eq!(error.during, During::Step { input: "each".into(), number: 3 });
            assert_eq!(error.message.as_deref(), Some("3"));
            let state = match way {
                Way::End | Way::Keep => "sum 106",
                Way::Init => "sum 100",
                Way::Restore => "sum 103",
            };
            assert_eq!(error.state.as_deref(), Some(state));
            let text = error.to_string();
            assert!(
                text.starts_with("the process 'sum' panicked at message 3 of 'each', 3: planned: three; it "),
                "{text}"
            );
            if way == Way::End {
                wait_until(|| run.inject(each, [4]).is_err());
            } else {
                run.inject(each, [4]).unwrap();
            }
            let reports = run.reports().clone();
            let ended = run.join();
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), expected, "{way:?}");
            assert!(!reports.try_iter().any(|report| report.text == "3"));
            let sum = ended.process("sum").unwrap();
            assert_eq!((sum.panics, sum.undelivered), (1, 0));
            assert_eq!(sum.why == EndReason::Panicked("planned: three".into()), way == Way::End);
            assert_eq!(ended.process("last").unwrap().why, EndReason::InputsEnded);
        }
    });
}

/// One that has ended by a panic: who gave to it ends, too, and who read from it.
#[test]
fn the_neighbours_of_one_that_panics() {
    each_runtime(|| {
        let mut net = Network::builder();
        let numbers = net.source("numbers", || 0..);
        let (each, out) = net.process(
            "panics",
            || (),
            |p| {
                let out = p.output::<i32>("out");
                (p.input("each", |(), n: i32, _| assert!(n < 50, "planned: fifty")), out)
            },
        );
        let last = net.sink("last", |_| ());
        net.connect(numbers, each).connect(out, last);
        let run = net.build().unwrap().start();
        let ended = run.join();
        let why: Vec<_> = ended.processes.iter().map(|end| end.why.clone()).collect();
        let panicked = EndReason::Panicked("planned: fifty".into());
        assert_eq!(why, [EndReason::NobodyReads, panicked, EndReason::InputsEnded]);
        let [numbers, panics, _] = &ended.processes[..] else { panic!("three processes") };
        // Each message that was given was read, or waited, or was the one that panicked.
        assert_eq!(numbers.given, panics.steps + panics.unread as u64);
        assert_eq!(numbers.steps, numbers.given + numbers.undelivered);
    });
}

/// In other functions than steps.
#[test]
fn panics_elsewhere() {
    each_runtime(|| {
        // When it makes its state.
        let mut net = Network::builder();
        net.process("p", || -> () { panic!("planned: init") }, |p| p.input("in", |(), (), _| ()));
        let run = net.build().unwrap().start();
        let error = run.errors().recv().unwrap();
        assert_eq!((error.during, error.outcome, error.state), (During::Init, Outcome::Ended, None));
        assert_eq!(run.join().processes[0].why, EndReason::Panicked("planned: init".into()));

        // At a transition, of each kind. What a step has given is given all the same.
        for at in [Transition::Start, Transition::Pause, Transition::Resume, Transition::InputsEnded, Transition::Stop]
        {
            let (tx, rx) = unbounded();
            let mut net = Network::builder();
            let (each, out) = net.process(
                "p",
                || (),
                |p| {
                    p.on_panic(OnPanic::Keep);
                    p.on_transition(move |(), transition, _| assert!(transition != at, "planned: transition"));
                    let out = p.output("out");
                    (p.input("in", move |(), n: i32, outputs| outputs.give(out, n)), out)
                },
            );
            let last = net.sink("last", move |n: i32| tx.send(n).unwrap());
            net.connect(out, last);
            let run = net.build().unwrap().start();
            run.process("p").unwrap().pause();
            run.process("p").unwrap().ping(LONG);
            run.inject(each, 0..5).unwrap();
            run.resume();
            let errors = run.errors().clone();
            let ended = run.join();
            assert_eq!(errors.recv().unwrap().during, During::Transition(at));
            assert!(errors.recv().is_err());
            assert_eq!((ended.processes[0].panics, &ended.processes[0].why), (1, &EndReason::InputsEnded));
            assert!(rx.try_iter().eq(0..5));
        }

        // A source.
        let mut net = Network::builder();
        net.process(
            "p",
            || 0,
            |p| {
                p.on_panic(OnPanic::Keep);
                p.produce(|n, _| {
                    *n += 1;
                    assert!(*n != 2, "planned: source");
                    if *n < 4 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                });
            },
        );
        let run = net.build().unwrap().start();
        assert_eq!(run.errors().recv().unwrap().during, During::Producing);
        let ended = run.join();
        assert_eq!((ended.processes[0].steps, &ended.processes[0].why), (4, &EndReason::InputsEnded));

        // A state that cannot be shown.
        let mut net = Network::builder();
        net.process(
            "p",
            || (),
            |p| {
                p.show(|()| panic!("planned: show"));
                p.input("in", |(), (), _| ())
            },
        );
        let run = net.build().unwrap().start();
        let state = run.ping(LONG).remove(0).state.unwrap();
        assert_eq!(state, "the state cannot be shown: planned: show");
        assert!(run.join().is_complete());
    });
}

/// Messages whose copies, and whose destructors, panic.
#[test]
fn messages_that_panic() {
    struct Message(i32, bool);
    impl Clone for Message {
        fn clone(&self) -> Self {
            assert!(self.0 != 5, "planned: clone");
            Message(self.0, false)
        }
    }
    impl Drop for Message {
        fn drop(&mut self) {
            assert!(!self.1, "planned: drop");
        }
    }
    each_runtime(|| {
        let (tx, rx) = unbounded();
        let mut net = Network::builder();
        let numbers = net.source("numbers", || (0..10).map(|n| Message(n, false)));
        let sinks = ["a", "b"].map(|name| {
            let tx = tx.clone();
            net.sink(name, move |message: Message| tx.send(message.0).unwrap())
        });
        net.connect_each(numbers, sinks);
        let run = net.build().unwrap().start();
        let error = run.errors().recv().unwrap();
        assert_eq!((error.during, error.outcome), (During::Giving, Outcome::Kept));
        let ended = run.join();
        let numbers = &ended.processes[0];
        assert_eq!((numbers.given, numbers.undelivered, numbers.panics), (9, 1, 1));
        let mut seen: Vec<_> = rx.try_iter().collect();
        seen.sort();
        assert!(seen.into_iter().eq((0..20).map(|n| n / 2).filter(|n| *n != 5)));

        // What a stop drops, several at once.
        let mut net = Network::builder();
        let entered = Arc::new(Event::new());
        let inside = entered.clone();
        let (each, out) = net.flat_map("many", |(): ()| (0..10).map(|n| Message(n, true)));
        let last = net.sink("last", move |message: Message| {
            std::mem::forget(message);
            inside.set();
            myriad::time::sleep(LONG);
        });
        net.connect(out, last).buffer(last, Buffer::Bounded(1));
        let run = net.build().unwrap().start();
        run.inject(each, [()]).unwrap();
        entered.wait();
        wait_until(|| run.process("many").unwrap().ping(LONG).activity == Activity::Giving("out".into()));
        run.cancel();
        let ended = run.join();
        let many = ended.process("many").unwrap();
        assert_eq!((many.given, many.undelivered, many.panics), (2, 8, 8));
        assert_eq!(ended.process("last").unwrap().unread, 1);
    });
}

/// A hundred errors and reports wait, the newest; all are counted.
#[test]
fn nobody_reads_errors_and_reports() {
    each_runtime(|| {
        let mut net = Network::builder();
        let each = net.process(
            "each",
            || (),
            |p| {
                p.on_panic(OnPanic::Keep);
                p.input("in", |(), n: i32, out| {
                    out.report(format!("{n}"));
                    assert!(n < 150, "planned: {n}");
                })
            },
        );
        let run = net.build().unwrap().start();
        run.inject(each, 0..300).unwrap();
        let (errors, reports) = (run.errors().clone(), run.reports().clone());
        assert_eq!(run.join().processes[0].panics, 150);
        let errors: Vec<_> = errors.iter().map(|error| error.panic.message().to_owned()).collect();
        assert!(errors.into_iter().eq((200..300).map(|n| format!("planned: {n}"))));
        assert!(reports.iter().map(|report| report.text).eq((50..150).map(|n| n.to_string())));
    });
}

/// Where there is nobody to read it, a panic is reported as that of a detached task is.
#[test]
fn a_detached_network_that_panics() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let hook = said.clone();
    let unhandled = Unhandled::Hook(Arc::new(move |text: &str| locked(&hook).push(text.to_owned())));
    each_with(
        &[1, 2],
        |builder| builder.on_unhandled_panic(unhandled.clone()),
        |_, rt| {
            let go = Arc::new(Event::new());
            let waits = go.clone();
            rt.run(|| {
                let mut net = Network::builder();
                let numbers = net.source("numbers", move || {
                    waits.wait();
                    [1]
                });
                let last = net.sink("last", |_: i32| panic!("planned: nobody"));
                net.connect(numbers, last);
                net.build().unwrap().start().detach();
            });
            go.set();
            wait_until(|| !locked(&said).is_empty());
            let text = locked(&said).pop().unwrap();
            assert!(
                text.starts_with("the process 'last' panicked at message 1 of 'in': planned: nobody; it"),
                "{text}"
            );
        },
    );
}

/// All is dropped, whatever the end.
#[test]
fn nothing_is_kept() {
    each_runtime(|| {
        let drops = Drops::new();
        for round in 0..6 {
            let (one, other) = (drops.one(), drops.one());
            let state = Arc::new(one);
            let mut net = Network::builder();
            let (number, same) = net.process(
                "same",
                move || state.clone(),
                |p| {
                    let same = p.output("same");
                    (p.input("in", move |_, item, out| out.give(same, item)), same)
                },
            );
            let last = net.sink("last", move |_| {
                _ = &other;
                assert!(round != 3, "planned: round");
            });
            net.connect(same, last);
            let net = net.build().unwrap();
            let run = net.start_paused();
            run.inject(number, (0..5).map(|_| drops.one())).unwrap();
            match round {
                0 => run.stop(),
                1 => run.cancel(),
                2 => run.resume(),
                3 => run.resume(),
                4 => drop(run.ping(LONG)),
                _ => {}
            }
            if round < 4 {
                run.join();
            }
            drop(net);
        }
        drops.wait_all(6 * 7);
    });
}

#[test]
fn an_output_of_another_process() {
    each_runtime(|| {
        let mut net = Network::builder();
        let (_, foreign) = net.flat_map("other", |n: i32| Some(n));
        let each = net.process("each", || (), |p| p.input("in", move |(), n: i32, out| out.give(foreign, n)));
        let run = net.build().unwrap().start();
        run.inject(each, [1]).unwrap();
        let error = run.errors().recv().unwrap();
        assert!(error.panic.message().starts_with("a step gives to an output of another process"));
        run.join();
    });
}

/// A state whose destructor panics.
#[test]
fn a_state_that_panics_when_it_is_dropped() {
    struct Panics(Arc<AtomicBool>);
    impl Drop for Panics {
        fn drop(&mut self) {
            assert!(self.0.swap(true, SeqCst), "planned: state");
        }
    }
    each_runtime(|| {
        for on_panic in [OnPanic::End, OnPanic::Init] {
            let was_dropped = Arc::new(AtomicBool::new(false));
            let mut net = Network::builder();
            let inside = was_dropped.clone();
            let each = net.process(
                "each",
                move || Panics(inside.clone()),
                |p| {
                    p.on_panic(on_panic);
                    p.input("in", |_, (), _| panic!("planned: step"))
                },
            );
            let run = net.build().unwrap().start();
            run.inject(each, [()]).unwrap();
            let errors = run.errors().clone();
            let ended = run.join();
            let during: Vec<_> = errors.iter().map(|error| error.during == During::Release).collect();
            assert_eq!(during.len(), 2);
            assert_eq!(during.into_iter().filter(|is_release| *is_release).count(), 1);
            assert_eq!(ended.processes[0].panics, 2);
        }
    });
}
