//! Gangs: jobs that all run at the same time, on threads that they keep.

use crate::common::{
    Drops, MODES, case, catch, catch_planned, each, in_both_modes, in_child, plan, quiet, wait_until, watch,
};
use myriad::channel::{bounded, rendezvous};
use myriad::task::{GangError, ScopedValue, current, gang, try_gang};
use myriad::{Handle, platform, scope, spawn, time, yield_now};
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// Spins until so many have come, without telling anybody that it waits.
fn meet(here: &AtomicUsize, all: usize) {
    here.fetch_add(1, SeqCst);
    while here.load(SeqCst) < all {
        // The machine may have fewer processors than this gang has jobs.
        std::thread::yield_now();
    }
}

fn thread() -> ThreadId {
    std::thread::current().id()
}

#[test]
fn all_jobs_run_at_the_same_time() {
    each(&[1, 2], |rt| {
        for n in [0, 1, 2, 3, 8, 33] {
            let (here, ran) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
            let caller = rt.run(|| {
                gang(n, |i| {
                    meet(&here, n);
                    ran.lock().unwrap().push((i, thread()));
                });
                thread()
            });
            let mut ran = ran.into_inner().unwrap();
            ran.sort_by_key(|job| job.0);
            assert!(ran.iter().map(|job| job.0).eq(0..n), "each number once");
            assert_eq!(ran.iter().map(|job| job.1).collect::<HashSet<_>>().len(), n, "on threads of their own");
            assert!(ran.first().is_none_or(|job| job.1 == caller), "the first one on the caller's");
        }
    });
}

/// One worker and no spare: whoever else ran on its thread would be seen.
#[test]
fn nothing_sets_a_job_aside() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.spare_workers(0),
            |rt| {
                let others = Arc::new(AtomicUsize::new(0));
                let (wake, woken) = bounded::<()>(1);
                rt.run(|| {
                    let blocked = others.clone();
                    let blocked = spawn(move || {
                        woken.recv().unwrap();
                        blocked.fetch_add(1, SeqCst);
                    });
                    yield_now();
                    let unstarted = Mutex::new(None);
                    let (tx, rx) = rendezvous();
                    gang(2, |i| {
                        let before = thread();
                        if i == 0 {
                            // One that goes on, and one that begins, as soon as the worker can.
                            wake.send(()).unwrap();
                            let others = others.clone();
                            *unstarted.lock().unwrap() = Some(spawn(move || others.fetch_add(1, SeqCst)));
                            yield_now();
                            time::sleep(Duration::from_millis(2));
                            for k in 0..100 {
                                assert_eq!(rx.recv(), Ok(k));
                            }
                        } else {
                            (0..100).for_each(|k| tx.send(k).unwrap());
                        }
                        assert_eq!(thread(), before);
                    });
                    assert_eq!(others.load(SeqCst), 0, "a task has run on the thread of a job, {mode}");
                    blocked.join().unwrap();
                    unstarted.into_inner().unwrap().unwrap().join().unwrap();
                });
                assert_eq!(others.load(SeqCst), 2);
            },
        );
    }
}

/// Gangs that want the whole machine, and more.
#[test]
fn gangs_come_in_one_after_the_other() {
    let processors = platform().workers;
    in_both_modes(|rt| {
        let (gangs, jobs) = (AtomicUsize::new(0), AtomicUsize::new(0));
        rt.run(|| {
            scope(|s| {
                for k in 0..12 {
                    let (gangs, jobs) = (&gangs, &jobs);
                    s.spawn(move || {
                        let n = processors + k % 3;
                        let here = AtomicUsize::new(0);
                        gang(n, |i| {
                            if i == 0 {
                                assert_eq!(gangs.fetch_add(1, SeqCst), 0, "two at a time");
                            }
                            meet(&here, n);
                            jobs.fetch_add(1, SeqCst);
                            meet(&here, 2 * n);
                            if i == 0 {
                                gangs.fetch_sub(1, SeqCst);
                            }
                        });
                    });
                }
            });
        });
        assert_eq!(jobs.into_inner(), 4 * (3 * processors + 3));
    });
}

/// Small ones beside each other: never more jobs than processors.
#[test]
fn all_gangs_together_have_the_processors() {
    let processors = platform().workers;
    each(&[2, 4], |rt| {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        rt.run(|| {
            scope(|s| {
                for _ in 0..40 {
                    s.spawn(|| {
                        gang(1, |_| {
                            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                            std::thread::yield_now();
                            now.fetch_sub(1, SeqCst);
                        });
                    });
                }
            });
        });
        // (Tests beside this one take places too, and never give us more.)
        assert!((1..=processors).contains(&most.into_inner()));
    });
}

#[test]
fn a_gang_in_a_gang_is_refused() {
    in_both_modes(|rt| {
        rt.run(|| {
            gang(2, |_| {
                let error = try_gang(2, |_| unreachable!()).unwrap_err();
                assert!(matches!(error, GangError::Nested));
                assert!(error.to_string().contains("would wait for itself"), "{error}");
            });
            // And the thread is as before.
            assert!(try_gang(1, |_| ()).is_ok());
        });
    });
}

#[test]
fn too_many() {
    let error = try_gang(1 << 20, |_| unreachable!()).unwrap_err();
    assert!(matches!(error, GangError::TooMany { asked: 1_048_576, most: 4096 }), "{error:?}");
    assert!(error.to_string().contains("as many as processors"), "{error}");
}

#[test]
fn the_first_panic_goes_on_when_all_have_ended() {
    quiet();
    in_both_modes(|rt| {
        let (ended, drops) = (AtomicUsize::new(0), Drops::new());
        rt.run(|| {
            let payload = catch(|| {
                gang(4, |i| {
                    ended.fetch_add(1, SeqCst);
                    if i > 0 {
                        std::panic::panic_any((crate::common::PLANNED, i, drops.one()));
                    }
                });
            });
            assert_eq!(ended.load(SeqCst), 4);
            type Thrown = (&'static str, usize, crate::common::Counted);
            assert_eq!(payload.downcast_ref::<Thrown>().unwrap().1, 1, "of the lowest number");
            drop(payload);
            drops.assert_all(3);
            catch_planned("the caller's own", || {
                gang(2, |i| {
                    if i == 0 {
                        plan("the caller's own")
                    }
                })
            });
            assert!(current().is_some(), "still a task");
        });
    });
}

/// A task that is cancelled while it waits for its turn leaves the line, and the next one comes in.
#[test]
fn cancelled_in_the_line() {
    let processors = platform().workers;
    each(&[2], |rt| {
        let (inside, go) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (says, may) = (inside.clone(), go.clone());
        let first = rt.spawn(move || {
            gang(processors, |_| {
                says.store(true, SeqCst);
                while !may.load(SeqCst) {
                    std::thread::yield_now();
                }
            });
        });
        wait_until(|| inside.load(SeqCst));
        let second = rt.spawn(move || gang(processors, |_| unreachable!("cancelled before its turn")));
        let third = rt.spawn(move || gang(1, |_| ()));
        // Wherever it is: it has not begun, or waits.
        second.cancel();
        assert!(second.join().unwrap_err().is_cancelled());
        go.store(true, SeqCst);
        first.join().unwrap();
        third.join().unwrap();
    });
}

#[test]
fn what_jobs_see_and_spawn() {
    myriad::task_local! { static LOCAL: Cell<u32> = Cell::new(1); }
    static COLOUR: ScopedValue<u32> = ScopedValue::new(0);
    each(&[1, 2], |rt| {
        let home = rt.run(|| Handle::current().unwrap().pool_name().to_string());
        let spawned = Mutex::new(Vec::new());
        rt.run(|| {
            LOCAL.with(|l| l.set(5));
            COLOUR.with_value(7, || {
                gang(3, |i| {
                    assert_eq!(LOCAL.with(|l| l.replace(9)), 1, "of its own");
                    assert_eq!(COLOUR.get(), 7);
                    assert_eq!(*Handle::current().unwrap().pool_name(), *home);
                    spawned.lock().unwrap().push(spawn(move || 10 * i));
                    assert_eq!(myriad::run(|| i), i);
                });
            });
            assert_eq!(LOCAL.with(Cell::get), 5);
            let sum = spawned.lock().unwrap().drain(..).map(|h| h.join().unwrap()).sum::<usize>();
            assert_eq!(sum, 30);
        });
    });
}

#[test]
fn on_a_thread_that_is_no_worker() {
    let _watch = watch("on a thread");
    let here = AtomicUsize::new(0);
    gang(3, |_| meet(&here, 3));
    assert_eq!(here.into_inner(), 3);
}

/// The threads of the parent are not in the child; gangs have new ones there.
#[cfg(target_os = "linux")]
#[test]
fn after_a_fork() {
    let output = in_child(&[], || {
        let meeting = || {
            let here = AtomicUsize::new(0);
            gang(2, |_| meet(&here, 2));
        };
        meeting();
        // SAFETY: the other threads of this process hold no lock that the child needs, but for
        // those that gangs take care of.
        match unsafe { libc::fork() } {
            0 => {
                // If it hangs it ends, and does not keep the pipes of the test open.
                // SAFETY: of this process alone.
                unsafe { libc::alarm(100) };
                meeting();
                // SAFETY: ends the child, without destructors of a runtime that it does not have.
                unsafe { libc::_exit(7) };
            }
            child => {
                assert!(child > 0);
                let status = Cell::new(0);
                wait_until(|| {
                    // SAFETY: our own child.
                    unsafe { libc::waitpid(child, status.as_ptr(), libc::WNOHANG) == child }
                });
                let status = status.get();
                assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
            }
        }
        meeting();
    });
    crate::common::assert_ok(&output);
}
