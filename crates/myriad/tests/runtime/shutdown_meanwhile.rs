//! The end of a runtime: what goes on meanwhile and afterwards, and from where it may be ended.

#![allow(clippy::async_yields_async)] // a future that was polled is handed on, not awaited

use crate::common::{
    Drops, MODES, Mode, assert_ok, case, catch, each_owned as each_runtime, ended_at_rest, in_child, stderr, text,
    wait_until, watch,
};
use myriad::channel::{Sender, bounded, rendezvous, unbounded};
use myriad::{JoinHandle, Runtime, block_on, scope, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const SOON: Duration = Duration::from_millis(20);

// -------------------------------------------------------------------------------------------------------
// who waits meanwhile

/// A foreign thread is in `run` while another one ends the runtime: its task is awaited like any
/// other.
#[test]
fn a_run_is_awaited() {
    each_runtime(|_, rt| {
        let (go_tx, go_rx) = bounded::<()>(1);
        let (started_tx, started_rx) = bounded(1);
        let handle = rt.handle();
        let runs = std::thread::spawn(move || {
            handle.run(move || {
                started_tx.send(()).unwrap();
                go_rx.recv().unwrap();
                42
            })
        });
        started_rx.recv().unwrap();
        let releases = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            go_tx.send(()).unwrap();
        });
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(runs.join().unwrap(), 42);
        releases.join().unwrap();
    });
}

/// A future waits for a message from a foreign thread, which comes while the runtime is patient.
#[test]
fn a_future_that_is_woken_during_the_shutdown() {
    each_runtime(|_, rt| {
        let (tx, rx) = unbounded::<u32>();
        let waiting = Arc::new(AtomicBool::new(false));
        let h = rt.run(|| {
            let waiting = waiting.clone();
            spawn_async(async move {
                waiting.store(true, SeqCst);
                rx.recv_async().await.unwrap() + rx.recv_async().await.unwrap()
            })
        });
        wait_until(|| waiting.load(SeqCst));
        let sends = std::thread::spawn(move || {
            for _ in 0..2 {
                std::thread::sleep(Duration::from_millis(5));
                tx.send(21).unwrap();
            }
        });
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
        sends.join().unwrap();
        assert_eq!(h.join().unwrap(), 42);
    });
}

/// A task spawns through a handle of its own runtime during the shutdown: as good as `spawn`.
#[test]
fn a_task_spawns_through_a_handle_during_the_shutdown() {
    each_runtime(|_, rt| {
        let (go_tx, go_rx) = bounded::<()>(1);
        let handle = rt.handle();
        let h = rt.spawn(move || {
            go_rx.recv().unwrap();
            handle.spawn(|| 42).join().unwrap()
        });
        let releases = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            go_tx.send(()).unwrap();
        });
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
        releases.join().unwrap();
        assert_eq!(h.join().unwrap(), 42);
    });
}

/// A foreign thread stands at the end of a scope whose tasks never start: it goes on.
#[test]
fn destructors_at_the_end_may_spawn_and_send() {
    struct Last(Sender<&'static str>, Drops);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap();
            // Nobody runs it any more; it is dropped like the others.
            let token = self.1.one();
            drop(spawn_on(myriad::Handle::current(), token));
        }
    }
    fn spawn_on(here: Option<myriad::Handle>, token: crate::common::Counted) -> Option<JoinHandle<()>> {
        here.map(|here| here.spawn(move || drop(token)))
    }
    let setup = |rt: &Runtime| {
        let (tx, rx) = unbounded();
        let (never_tx, never_rx) = unbounded::<()>();
        let (drops, begun) = (Drops::new(), Arc::new(AtomicBool::new(false)));
        let (last, begins) = (Last(tx, drops.clone()), begun.clone());
        drop(rt.spawn_async(async move {
            let _last = last;
            begins.store(true, SeqCst);
            _ = never_rx.recv_async().await;
        }));
        wait_until(|| begun.load(SeqCst));
        (drops, rx, never_tx)
    };
    ended_at_rest(setup, |_, report, (drops, rx, never_tx)| {
        assert_eq!(report.dropped().len(), 1, "{report}");
        assert_eq!(rx.recv(), Ok("dropped"));
        drops.assert_all(1);
        drop(never_tx);
    });
}

// -------------------------------------------------------------------------------------------------------
// from where

/// A task cannot end its own runtime: it would wait for itself. It is told so, and the runtime
/// lives on.
#[test]
fn from_one_of_its_own_tasks() {
    each_runtime(|_, rt| {
        let h = rt.handle();
        let payload = catch(|| h.run(move || rt.shutdown(Duration::ZERO)));
        assert!(text(&*payload).contains("cannot be shut down by one of its own tasks"), "{}", text(&*payload));
    });
}

/// From a task that was started inside of another one's end, and from a task of another runtime.
#[test]
fn from_a_task_of_another_runtime() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b,
            |outer| {
                let report = outer.run(|| {
                    let inner = mode.runtime(1);
                    let (tx, rx) = bounded::<()>(1);
                    drop(inner.spawn(move || _ = rx.recv()));
                    let report = inner.shutdown(SOON);
                    drop(tx);
                    report
                });
                assert_eq!(report.unfinished().len() + report.dropped().len(), 1, "{report}");
            },
        );
    }
}

/// Dropped in one of its own tasks: the runtime ends after that task.
#[test]
fn dropped_in_its_own_task() {
    each_runtime(|_, rt| {
        let handle = rt.handle();
        let h = handle.spawn(move || {
            drop(rt);
            7
        });
        assert_eq!(h.join().unwrap(), 7);
        wait_until(|| handle.spawn(|| ()).join().is_err_and(|e| e.is_shutdown()));
    });
}

/// Dropped while a panic goes through, also one of a task of this very runtime.
#[test]
fn dropped_by_a_panic() {
    for mode in MODES {
        let _watch = watch(&mode.to_string());
        crate::common::catch_planned("in run", || {
            let rt = mode.runtime(2);
            let (_tx, rx) = bounded::<()>(1);
            drop(rt.spawn(move || _ = rx.recv()));
            rt.run(|| crate::common::plan("in run"));
        });
        // The dropped runtime's tasks have gone or are left where they are; a new one works.
        let rt = mode.runtime(2);
        assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
    }
}

// -------------------------------------------------------------------------------------------------------
// afterwards

/// What was left by one runtime does not disturb the next ones, nor does a late wake.
#[test]
fn late_wakes() {
    let setup = |rt: &Runtime| {
        let (tx, rx) = bounded::<u32>(64);
        let waiting = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            for i in 0..20 {
                let (rx, waiting) = (rx.clone(), waiting.clone());
                if i % 2 == 0 {
                    drop(spawn(move || {
                        waiting.fetch_add(1, SeqCst);
                        _ = rx.recv();
                    }));
                } else {
                    drop(spawn_async(async move {
                        waiting.fetch_add(1, SeqCst);
                        _ = rx.recv_async().await;
                    }));
                }
            }
            wait_until(|| waiting.load(SeqCst) == 20);
        });
        (tx, rx)
    };
    ended_at_rest(setup, |mode, report, (tx, rx)| {
        assert_eq!((report.unfinished().len(), report.dropped().len()), (10, 10), "{report}");
        // Wakes the blocked ones, which never go on.
        (0..10).for_each(|i| tx.send(i).unwrap());
        for _ in 0..3 {
            let next = mode.runtime(1);
            assert_eq!(next.run(|| (0..100).map(|i| spawn(move || i).join().unwrap()).sum::<u32>()), 4950);
            assert!(next.shutdown(crate::common::PATIENCE).is_clean());
        }
        std::mem::forget((tx, rx));
    });
}

/// A future of the library that has outlived its runtime: it is dropped, or goes on elsewhere.
#[test]
fn a_sleep_that_outlives_its_runtime() {
    type Boxed = std::pin::Pin<Box<myriad::time::Sleep>>;
    each_runtime(|mode, rt| {
        for goes_on in [false, true] {
            let first = mode.runtime(rt.workers());
            let mut sleep: Boxed = first.run(|| {
                spawn_async(async {
                    let mut sleep: Boxed = Box::pin(myriad::time::sleep_async(Duration::from_millis(30)));
                    let mut once = sleep.as_mut();
                    // Pending, unless this thread was held up for so long.
                    std::future::poll_fn(|cx| std::task::Poll::Ready(_ = std::future::Future::poll(once.as_mut(), cx)))
                        .await;
                    sleep
                })
                .join()
                .unwrap()
            });
            assert!(first.shutdown(crate::common::PATIENCE).is_clean());
            // Another runtime takes over what the first one has left.
            let second = mode.runtime(rt.workers());
            second.run(|| myriad::time::sleep(Duration::from_micros(100)));
            if goes_on {
                // (It ends, or the test hangs.)
                second.run(move || block_on(async move { sleep.as_mut().await }));
            } else {
                drop(sleep);
            }
            second.run(|| myriad::time::sleep(Duration::from_micros(100)));
            assert!(second.shutdown(crate::common::PATIENCE).is_clean());
        }
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    });
}

/// A scope of a foreign thread whose runtime is the global one is not concerned by the end of
/// others.
#[test]
fn the_global_runtime_goes_on() {
    let _watch = watch("global runtime");
    each_runtime(|_, rt| {
        let sum = AtomicUsize::new(0);
        scope(|s| {
            for i in 0..10 {
                let sum = &sum;
                s.spawn(move || {
                    myriad::yield_now();
                    sum.fetch_add(i, SeqCst);
                });
            }
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        });
        assert_eq!(sum.load(SeqCst), 45);
    });
}

/// A task ends the program, from wherever it is.
#[test]
fn a_task_that_ends_the_program() {
    for mode in ["fibers", "threads"] {
        let output = in_child(&[("MYRIAD_TEST_MODE", mode)], || {
            let mode =
                if std::env::var("MYRIAD_TEST_MODE").unwrap() == "fibers" { Mode::Fibers } else { Mode::Threads };
            let rt = mode.runtime(2);
            rt.run(|| {
                (0..20).for_each(|_| drop(spawn(|| myriad::time::sleep(Duration::MAX))));
                spawn(|| {
                    myriad::yield_now();
                    std::process::exit(17)
                })
                .join()
                .unwrap()
            });
        });
        assert_eq!(output.status.code(), Some(17), "{}", stderr(&output));
    }
}

/// A program that leaves blocked tasks in a runtime which it drops, and ends: quietly.
#[test]
fn a_program_that_drops_its_runtime() {
    let output = in_child(&[], || {
        for mode in MODES {
            let rt = mode.runtime(2);
            let (tx, rx) = rendezvous::<()>();
            rt.run(|| {
                for _ in 0..10 {
                    let rx = rx.clone();
                    drop(spawn(move || _ = rx.recv()));
                }
                (0..100).for_each(|_| myriad::yield_now());
            });
            drop(rt);
            drop((tx, rx));
        }
    });
    assert_ok(&output);
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}
