//! The end of a runtime, and what it says about tasks that have not ended.

#![allow(clippy::async_yields_async)] // a future that was polled is handed on, not awaited

use crate::common::{
    Drops, MODES, assert_ok, each_owned as each_runtime, each_owned_with, ended_at_rest, in_child, stderr, wait_until,
};
use myriad::channel::{Receiver, bounded, rendezvous, unbounded};
use myriad::{Handle, JoinHandle, Report, Runtime, State, Unfinished, block_on, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(20);

/// What stands in a report of one kind, as text.
fn states(tasks: &[impl std::fmt::Display]) -> Vec<String> {
    tasks.iter().map(|task| task.to_string()).collect()
}

fn end(rt: Runtime) -> Report {
    rt.shutdown(Duration::ZERO)
}

/// What is spawned to see whether a shutdown has begun, by its name.
const PROBE: &str = "probe";

/// Sets `stop` when a shutdown without patience has begun, and the runtime stops.
fn stop_at_the_end(handle: Handle, stop: Arc<AtomicBool>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let probe = || myriad::task::Builder::new().on(handle).name(PROBE).spawn(|| ());
        while !probe().join_timeout(Duration::ZERO).is_ok_and(|refused| refused.is_err_and(|e| e.is_shutdown())) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The runtime refuses before it stops, and nobody outside can see the stop. A worker that
        // comes back before it begins what is queued, so the thread of the shutdown gets some time.
        std::thread::sleep(Duration::from_millis(30));
        stop.store(true, SeqCst);
    })
}

/// A worker that the machine does not let come back in time is named; nothing else is.
fn assert_only_late(report: &Report) {
    assert!(report.unfinished().iter().all(|task| task.state() == State::Running), "{report}");
}

/// For tests that keep all workers busy, so that tasks do not start: spare workers would start
/// them.
fn without_spares(body: impl Fn(Runtime)) {
    each_owned_with(|b| b.spare_workers(0), |_, rt| body(rt));
}

#[test]
fn nothing_is_left() {
    each_runtime(|_, rt| {
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean() && report.unfinished().is_empty() && report.dropped().is_empty());
        assert_eq!(report.to_string(), "all tasks have ended");
    });
}

#[test]
fn patience_is_for_tasks_that_end() {
    each_runtime(|_, rt| {
        let n = Arc::new(AtomicUsize::new(0));
        for i in 0..20u64 {
            let n = n.clone();
            drop(rt.spawn(move || {
                myriad::time::sleep(Duration::from_micros(i * 300));
                // Tasks may spawn during the shutdown: they need it to end.
                let inner = spawn(move || n.fetch_add(1, SeqCst));
                inner.join().unwrap();
            }));
        }
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(n.load(SeqCst), 20);
    });
}

/// With as much patience as there is, it returns as soon as the last task has ended.
#[test]
fn endless_patience() {
    each_runtime(|_, rt| {
        drop(rt.spawn(|| myriad::time::sleep(Duration::from_millis(2))));
        assert!(rt.shutdown(Duration::MAX).is_clean());
    });
}

// -------------------------------------------------------------------------------------------------------
// what is named

#[test]
fn blocked_tasks_are_named() {
    let setup = |rt: &Runtime| {
        let (tx, rx) = rendezvous::<()>();
        let (started_tx, started_rx) = bounded(8);
        rt.run(|| {
            for i in 0..2 {
                let (rx, started) = (rx.clone(), started_tx.clone());
                let body = move || {
                    started.send(()).unwrap();
                    _ = rx.recv();
                };
                if i == 0 { drop(myriad::task::Builder::new().name("waits").spawn(body)) } else { drop(spawn(body)) }
            }
        });
        (0..2).for_each(|_| started_rx.recv().unwrap());
        tx
    };
    ended_at_rest(setup, |_, report, tx| {
        drop(tx);
        assert!(!report.is_clean());
        let said = states(report.unfinished());
        assert_eq!((said.len(), report.dropped().len()), (2, 0), "{report}");
        assert!(said.iter().all(|s| s.contains("shutdown.rs:") && s.contains(": blocked, ")), "{said:?}");
        let named: Vec<_> = report.unfinished().iter().filter_map(|task| task.name()).collect();
        assert_eq!(named, ["waits"]);
        assert!(report.unfinished().iter().all(|task| task.spawned_at().file().ends_with("shutdown.rs")));
        assert!(report.to_string().starts_with("2 tasks have not ended\n  task"), "{report}");
    });
}

/// What was not started is dropped: what it holds goes, and its joiner is told.
#[test]
fn unstarted_tasks_are_dropped() {
    without_spares(|rt| {
        let drops = Drops::new();
        let (go_tx, go_rx) = bounded::<()>(1);
        let stop = Arc::new(AtomicBool::new(false));
        // The workers are busy until the shutdown has begun.
        let (started_tx, started_rx) = bounded(8);
        let busy: Vec<_> = (0..rt.workers())
            .map(|_| {
                let (stop, started) = (stop.clone(), started_tx.clone());
                rt.spawn(move || {
                    started.send(()).unwrap();
                    while !stop.load(SeqCst) {
                        std::thread::yield_now();
                    }
                })
            })
            .collect();
        (0..rt.workers()).for_each(|_| started_rx.recv().unwrap());
        let handles: Vec<JoinHandle<()>> = (0..10)
            .map(|_| {
                let (token, go) = (drops.one(), go_rx.clone());
                rt.spawn(move || {
                    _ = go.recv();
                    drop(token);
                })
            })
            .collect();
        let joiner = std::thread::spawn({
            let mut handles = handles;
            move || {
                let awaited = handles.pop().unwrap();
                let detached = handles.pop().unwrap();
                let errors: Vec<_> = handles.into_iter().map(|h| h.join().unwrap_err()).collect();
                drop(detached);
                assert!(errors.iter().all(|e| e.is_shutdown() && e.to_string().contains("was dropped")), "{errors:?}");
                assert!(block_on(awaited).unwrap_err().is_shutdown());
            }
        });
        // The blocked ones are started only when the workers are free, which is after the runtime
        // has stopped.
        let ends = stop_at_the_end(rt.handle(), stop);
        let report = end(rt);
        ends.join().unwrap();
        joiner.join().unwrap();
        busy.into_iter().for_each(|h| h.join().unwrap());
        let dropped: Vec<&Unfinished> = report.dropped().iter().filter(|task| task.name() != Some(PROBE)).collect();
        let said = states(&dropped);
        assert_eq!(said.len(), 10, "{report}");
        assert!(said.iter().all(|s| s.ends_with("not started, dropped")), "{said:?}");
        assert_only_late(&report);
        drops.assert_all(10);
        drop(go_tx);
    });
}

/// The same for tasks that another task has spawned, in the worker's own queue, of every kind.
#[test]
fn unstarted_children_are_dropped() {
    without_spares(|rt| {
        let drops = Drops::new();
        let stop = Arc::new(AtomicBool::new(false));
        let (started_tx, started_rx) = bounded(8);
        let busy: Vec<_> = (0..rt.workers())
            .map(|_| {
                let (stop, started, drops) = (stop.clone(), started_tx.clone(), drops.clone());
                rt.spawn(move || {
                    started.send(()).unwrap();
                    while !stop.load(SeqCst) {
                        std::thread::yield_now();
                    }
                    // Too late for all of these.
                    for _ in 0..50 {
                        let (a, b, big) = (drops.one(), drops.one(), [0u8; 800]);
                        drop(spawn(move || drop((a, big))));
                        drop(spawn_async(async move { drop(b) }));
                    }
                })
            })
            .collect();
        (0..rt.workers()).for_each(|_| started_rx.recv().unwrap());
        let ends = stop_at_the_end(rt.handle(), stop);
        let workers = rt.workers();
        let report = end(rt);
        ends.join().unwrap();
        busy.into_iter().for_each(|h| h.join().unwrap());
        assert_only_late(&report);
        drops.wait_all(workers * 100);
    });
}

#[test]
fn waiting_futures_are_dropped() {
    let setup = |rt: &Runtime| {
        let drops = Drops::new();
        let begun = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = unbounded::<()>();
        let waits = |token: crate::common::Counted, rx: Receiver<()>| {
            let begun = begun.clone();
            async move {
                let _token = token;
                begun.fetch_add(1, SeqCst);
                _ = rx.recv_async().await;
            }
        };
        let (h, named) = rt.run(|| {
            let h = spawn_async(waits(drops.one(), rx.clone()));
            drop(spawn_async(waits(drops.one(), rx.clone())));
            let (sleeps, begins) = (drops.one(), begun.clone());
            drop(spawn_async(async move {
                begins.fetch_add(1, SeqCst);
                myriad::time::sleep_async(Duration::from_secs(1000)).await;
                drop(sleeps);
            }));
            // Held by the first, which holds another.
            let inner = spawn_async(waits(drops.one(), rx.clone()));
            let (token, begins) = (drops.one(), begun.clone());
            let outer = spawn_async(async move {
                let _token = token;
                begins.fetch_add(1, SeqCst);
                inner.await
            });
            wait_until(|| begun.load(SeqCst) == 5);
            (h, outer)
        });
        (drops, h, named, tx, rx)
    };
    ended_at_rest(setup, |_, report, (drops, h, named, tx, rx)| {
        assert_eq!(report.dropped().len(), 5, "{report}");
        assert!(states(report.dropped()).iter().all(|s| s.ends_with("a waiting future, dropped")), "{report}");
        drops.assert_all(5);
        assert!(h.join().unwrap_err().is_shutdown());
        assert!(named.join().unwrap_err().is_shutdown());
        drop((tx, rx));
    });
}

/// What the program itself has cancelled, and has had no turn since, is nothing to be told of.
#[test]
fn cancelled_tasks_that_had_no_turn_are_not_named() {
    for _ in 0..100 {
        let rt = myriad::Builder::new().workers(1).build().unwrap();
        let waits = rt.spawn_async(std::future::pending::<()>());
        waits.cancel();
        let report = rt.shutdown(Duration::ZERO);
        assert!(report.is_clean(), "{:?}", states(report.dropped()));
    }
}

#[test]
fn running_tasks_are_named() {
    each_runtime(|_, rt| {
        let stop = Arc::new(AtomicBool::new(false));
        let (started_tx, started_rx) = bounded(64);
        let h = rt.run(|| {
            myriad::task::Builder::new().name("computes").spawn({
                let stop = stop.clone();
                move || {
                    started_tx.send(()).unwrap();
                    while !stop.load(SeqCst) {
                        std::thread::yield_now();
                    }
                }
            })
        });
        started_rx.recv().unwrap();
        let report = rt.shutdown(SOON);
        assert_eq!(states(report.unfinished()).len(), 1, "{report}");
        let said = report.unfinished()[0].to_string();
        assert!(said.starts_with("task 'computes' spawned at ") && said.ends_with(": still running"), "{said}");
        // It ends all the same, and can be joined.
        stop.store(true, SeqCst);
        h.join().unwrap();
    });
}

/// A task that comes back only after the shutdown has given it up: its children are dropped then,
/// and their joiners told.
#[test]
fn children_of_a_task_that_comes_back_late() {
    each_runtime(|_, rt| {
        let stop = Arc::new(AtomicBool::new(false));
        // (With room for all: one that waited there would go on only after the runtime's end.)
        let (started_tx, started_rx) = bounded(64);
        let (drops, workers) = (Drops::new(), rt.workers());
        let (handles_tx, handles_rx) = bounded(64);
        let busy: Vec<_> = (0..workers)
            .map(|_| {
                let (stop, drops, handles, started) =
                    (stop.clone(), drops.clone(), handles_tx.clone(), started_tx.clone());
                rt.spawn(move || {
                    started.send(()).unwrap();
                    while !stop.load(SeqCst) {
                        std::thread::yield_now();
                    }
                    for _ in 0..10 {
                        let (a, b) = (drops.one(), drops.one());
                        let named = myriad::task::Builder::new().name("late");
                        handles.send(named.spawn(move || drop(a))).unwrap();
                        handles.send(spawn_async(async move { drop(b) })).unwrap();
                    }
                })
            })
            .collect();
        drop(handles_tx);
        (0..workers).for_each(|_| started_rx.recv().unwrap());
        let report = end(rt);
        assert_eq!((report.unfinished().len(), report.dropped().len()), (workers, 0), "{report}");
        stop.store(true, SeqCst);
        busy.into_iter().for_each(|h| h.join().unwrap());
        for h in handles_rx {
            let name = h.name();
            let error = h.join().unwrap_err();
            assert!(error.is_shutdown() && error.name() == name.as_deref(), "{error}");
        }
        drops.wait_all(workers * 20);
    });
}

/// Tasks that never end but let others go first all the time: the runtime still stops.
#[test]
fn tasks_that_yield_for_ever() {
    let setup = |rt: &Runtime| {
        let (started_tx, started_rx) = bounded(4);
        for _ in 0..3 {
            let started = started_tx.clone();
            drop(rt.spawn(move || {
                started.send(()).unwrap();
                loop {
                    myriad::yield_now();
                }
            }));
        }
        let (started, drops) = (started_tx.clone(), Drops::new());
        let token = drops.one();
        drop(rt.run(|| {
            spawn_async(async move {
                let _token = token;
                started.send_async(()).await.unwrap();
                loop {
                    std::future::poll_fn(yields(false)).await;
                }
            })
        }));
        (0..4).for_each(|_| started_rx.recv().unwrap());
        drops
    };
    ended_at_rest(setup, |_, report, drops| {
        assert_eq!((report.unfinished().len(), report.dropped().len()), (3, 1), "{report}");
        assert!(states(report.unfinished()).iter().all(|s| s.contains(": blocked, ")), "{report}");
        drops.assert_all(1);
    });
}

fn yields(mut once: bool) -> impl FnMut(&mut std::task::Context<'_>) -> std::task::Poll<()> {
    move |cx| {
        if std::mem::replace(&mut once, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    }
}

/// A thousand short tasks that were not started are not run any more when the patience is at an
/// end.
#[test]
fn the_queue_is_not_worked_off() {
    without_spares(|rt| {
        let (ran, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let h = {
            let (ran, stop) = (ran.clone(), stop.clone());
            rt.spawn(move || {
                for _ in 0..1000 {
                    let (ran, stop) = (ran.clone(), stop.clone());
                    drop(spawn(move || {
                        ran.fetch_add(1, SeqCst);
                        // The first ones are in the way until the shutdown has begun.
                        while !stop.load(SeqCst) {
                            std::thread::yield_now();
                        }
                        std::thread::sleep(Duration::from_millis(1));
                    }));
                }
            })
        };
        h.join().unwrap();
        let ends = stop_at_the_end(rt.handle(), stop);
        let report = end(rt);
        ends.join().unwrap();
        assert_only_late(&report);
        let late = report.unfinished().len();
        let dropped = report.dropped().iter().filter(|task| task.name() != Some(PROBE)).count();
        let ran = ran.load(SeqCst);
        // (What a late worker leaves is dropped when it comes back.)
        assert!(ran + dropped == 1000 || late > 0, "{report}");
        assert!(ran < 1000, "all were run");
    });
}

#[test]
fn of_many_only_some_are_named() {
    let setup = |rt: &Runtime| {
        let (tx, rx) = rendezvous::<()>();
        let waiting = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            for _ in 0..100 {
                let (rx, waiting) = (rx.clone(), waiting.clone());
                drop(spawn_async(async move {
                    waiting.fetch_add(1, SeqCst);
                    _ = rx.recv_async().await;
                }));
            }
            wait_until(|| waiting.load(SeqCst) == 100);
        });
        tx
    };
    ended_at_rest(setup, |_, report, tx| {
        assert_eq!(report.dropped().len(), 100);
        assert!(report.to_string().ends_with("\n  and 80 more"), "{report}");
        drop(tx);
    });
}

/// Who drops a runtime with tasks left hears of them, in one line; who shuts it down has a report.
#[test]
fn a_runtime_that_is_dropped_names_what_is_left() {
    const LINE: &str = "myriad: the runtime 'mill' was dropped with ";
    for mode in MODES {
        let builder = || mode.builder().workers(2).name("mill");
        let blocked = |rt: &Runtime, tasks: usize| {
            let (tx, rx) = bounded::<()>(1);
            for i in 0..tasks {
                let rx = rx.clone();
                drop(myriad::task::Builder::new().name(format!("t{i}")).on(rt.handle()).spawn(move || rx.recv()));
            }
            wait_until(|| rt.metrics().sum().blocked == tasks);
            tx
        };
        let output = in_child(&[], || {
            let rt = builder().build().unwrap();
            let _tx = blocked(&rt, 1);
            drop(rt);
            let rt = builder().build().unwrap();
            let _tx = blocked(&rt, 5);
            drop(rt);
            // A future that waits is dropped.
            let rt = builder().build().unwrap();
            drop(rt.spawn_async(std::future::pending::<()>()));
            drop(rt);

            // Nothing is left; nobody wants to hear of it; there is a report.
            let rt = builder().build().unwrap();
            rt.run(|| spawn(|| ()).join().unwrap());
            drop(rt);
            let rt = builder().on_unhandled_panic(myriad::Unhandled::Ignore).build().unwrap();
            let _tx = blocked(&rt, 7);
            drop(rt);
            let rt = builder().build().unwrap();
            let _tx = blocked(&rt, 9);
            assert_eq!(end(rt).unfinished().len(), 9);
        });
        assert_ok(&output);
        let said = stderr(&output);
        let lines: Vec<_> = said.lines().filter(|line| line.contains("myriad: ")).collect();
        let [one, five, future] = lines[..] else { panic!("{mode}: {said}") };
        assert!(one.starts_with(&format!("{LINE}a task that had not ended: task 't0' spawned at ")), "{one}");
        assert!(
            one.contains("shutdown.rs:") && one.contains(": blocked, waits for a message. (`Runtime::shutdown`"),
            "{one}"
        );
        assert!(five.starts_with(&format!("{LINE}5 tasks that had not ended: ")), "{five}");
        assert!(five.contains("; and 2 more. (") && five.matches("waits for a message").count() == 3, "{five}");
        assert!(future.contains("a waiting future, dropped"), "{future}");
    }
}
