//! Code that keeps its thread, whatever it waits for.

use crate::common::{MODES, case, catch_planned, in_both_modes, plan, quiet};
use myriad::task::{current, keep_thread};
use myriad::{Handle, spawn, time, yield_now};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A lock that knows nothing of tasks is held over waits, by tasks of one thread. Without
/// `keep_thread`, in fiber mode, the second task would wait on the thread for the first one, which
/// stands behind it.
#[test]
fn a_foreign_lock_over_a_wait() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.spare_workers(0),
            |rt| {
                let lock = Arc::new(Mutex::new(0));
                let tasks: Vec<_> = (0..8)
                    .map(|_| {
                        let lock = lock.clone();
                        rt.spawn(move || {
                            keep_thread(|| {
                                let mut count = lock.lock().unwrap();
                                yield_now();
                                time::sleep(Duration::from_micros(50));
                                *count += 1;
                            });
                            yield_now();
                        })
                    })
                    .collect();
                tasks.into_iter().for_each(|task| task.join().unwrap());
                assert_eq!(*lock.lock().unwrap(), 8);
            },
        );
    }
}

/// A thread-local that is changed for a while: what the contract of fiber mode forbids around a
/// wait, and this allows.
#[test]
fn a_thread_local_scope_over_a_wait() {
    thread_local! { static DEPTH: Cell<u32> = const { Cell::new(0) }; }
    in_both_modes(|rt| {
        let tasks: Vec<_> = (0..20)
            .map(|_| {
                rt.spawn(|| {
                    keep_thread(|| {
                        assert_eq!(DEPTH.replace(1), 0, "the scope of another task");
                        yield_now();
                        time::sleep(Duration::from_micros(20));
                        assert_eq!(DEPTH.replace(0), 1);
                    });
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
    });
}

#[test]
fn it_is_the_task_still() {
    myriad::task_local! { static LOCAL: Cell<u32> = Cell::new(1); }
    in_both_modes(|rt| {
        let result = rt.run(|| {
            let (thread, pool) = (std::thread::current().id(), Handle::current().unwrap().pool_name());
            LOCAL.with(|l| {
                l.set(2);
                // Also while a reference to it is out.
                let sum = keep_thread(|| {
                    assert_eq!(std::thread::current().id(), thread);
                    assert_eq!(Handle::current().unwrap().pool_name(), pool);
                    assert_eq!(LOCAL.with(|l| l.replace(3)), 2);
                    keep_thread(|| myriad::run(|| 4)) + spawn(|| 5).join().unwrap()
                });
                assert_eq!(l.get(), 3);
                sum
            })
        });
        assert_eq!(result, 9);
        assert_eq!(keep_thread(|| 1), 1, "on a thread that is no worker");
    });
}

#[test]
fn a_panic_goes_on_and_the_worker_is_back() {
    quiet();
    in_both_modes(|rt| {
        rt.run(|| {
            catch_planned("kept", || keep_thread(|| plan("kept")));
            assert!(current().is_some());
            spawn(|| ()).join().unwrap();
        });
    });
}

/// Nothing in it is cancelled; what comes after it is.
#[test]
fn a_cancellation_waits_for_its_end() {
    in_both_modes(|rt| {
        let (inside, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (says, end) = (inside.clone(), ended.clone());
        let (go, may) = myriad::channel::bounded::<()>(1);
        let task = rt.spawn(move || {
            keep_thread(|| {
                says.store(true, SeqCst);
                may.recv().unwrap();
                end.store(true, SeqCst);
            });
            loop {
                time::sleep(Duration::from_secs(3600));
            }
        });
        crate::common::wait_until(|| inside.load(SeqCst));
        task.cancel();
        go.send(()).unwrap();
        assert!(task.join().unwrap_err().is_cancelled());
        assert!(ended.load(SeqCst));
    });
}
