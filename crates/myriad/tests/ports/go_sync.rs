//! Go's `sync` and `x/sync/semaphore`: their tests of behaviour, written anew (G7 to G9, G12 of
//! `docs/dev/FEATURES.md`).

use crate::lock_common::*;
use myriad::channel::{TryRecvError, bounded, rendezvous, unbounded};
use myriad::spawn;
use myriad::sync::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore, WaitGroup};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// `TestMutex`, `HammerMutex`: now and then only tried; the lock is never held twice, and free at
/// the end.
#[test]
fn hammer_a_mutex() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new(0));
        let taken = Arc::new(AtomicUsize::new(0));
        let (a, b, taken_a, taken_b) = (lock.clone(), lock.clone(), taken.clone(), taken.clone());
        all_kinds(
            rt,
            3,
            move || {
                for i in 0..300 {
                    if i % 3 == 0 {
                        if let Ok(mut n) = a.try_lock() {
                            *n += 1;
                            taken_a.fetch_add(1, SeqCst);
                        }
                        continue;
                    }
                    *a.lock().unwrap() += 1;
                    taken_a.fetch_add(1, SeqCst);
                }
            },
            move || {
                let (b, taken) = (b.clone(), taken_b.clone());
                async move {
                    for _ in 0..300 {
                        *b.lock_async().await.unwrap() += 1;
                        taken.fetch_add(1, SeqCst);
                    }
                }
            },
        );
        assert_eq!(*lock.try_lock().unwrap(), taken.load(SeqCst));
    });
}

/// `TestMutexFairness`: one that takes the lock again and again, and holds it long, does not keep
/// out one that asks for it now and then.
#[test]
fn a_mutex_is_fair_in_the_end() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new(()));
        let (stop, stopped) = bounded::<()>(0);
        let greedy = rt.spawn({
            let lock = lock.clone();
            move || {
                while stopped.try_recv() == Err(TryRecvError::Empty) {
                    let _guard = lock.lock().unwrap();
                    myriad::time::sleep(Duration::from_micros(100));
                }
            }
        });
        let modest = rt.spawn(move || {
            for _ in 0..10 {
                myriad::time::sleep(Duration::from_micros(100));
                drop(lock.lock().unwrap());
            }
        });
        // It ends, or the test hangs.
        modest.join().unwrap();
        drop(stop);
        greedy.join().unwrap();
    });
}

/// `TestRWMutex`, `HammerRWMutex`: a writer counts ten thousand, a reader one: there are never
/// both, nor two writers.
#[test]
fn hammer_a_read_write_lock() {
    const WRITER: usize = 10_000;
    each_runtime(|rt| {
        let (lock, activity) = (Arc::new(RwLock::new(())), Arc::new(AtomicUsize::new(0)));
        let inside = |activity: &AtomicUsize, weight: usize, ok: fn(usize) -> bool| {
            let n = activity.fetch_add(weight, SeqCst) + weight;
            assert!(ok(n), "writers and readers: {n}");
            (0..50).for_each(|i| _ = std::hint::black_box(i));
            activity.fetch_sub(weight, SeqCst);
        };
        let (l, a) = (lock.clone(), activity.clone());
        let (l2, a2) = (lock.clone(), activity.clone());
        all_kinds(
            rt,
            3,
            move || {
                for i in 0..200 {
                    match i % 8 {
                        0 => (l.write().unwrap(), inside(&a, WRITER, |n| n == WRITER)).1,
                        1 => _ = l.try_write().map(|_guard| inside(&a, WRITER, |n| n == WRITER)),
                        2 => _ = l.try_read().map(|_guard| inside(&a, 1, |n| n < WRITER)),
                        _ => (l.read().unwrap(), inside(&a, 1, |n| n < WRITER)).1,
                    }
                }
            },
            move || {
                let (l, a) = (l2.clone(), a2.clone());
                async move {
                    for i in 0..200 {
                        if i % 8 == 0 {
                            let _guard = l.write_async().await.unwrap();
                            inside(&a, WRITER, |n| n == WRITER);
                        } else {
                            let _guard = l.read_async().await.unwrap();
                            inside(&a, 1, |n| n < WRITER);
                        }
                    }
                }
            },
        );
        assert!(lock.try_write().is_ok() && activity.load(SeqCst) == 0);
    });
}

/// `TestParallelReaders`: all are inside at the same time.
#[test]
fn parallel_readers() {
    each_runtime(|rt| {
        rt.run(|| {
            for n in [1, 3, 10] {
                let lock = Arc::new(RwLock::new(7));
                let (entered, all_in) = unbounded();
                let (go, leave) = rendezvous::<()>();
                let readers: Vec<_> = (0..n)
                    .map(|_| {
                        let (lock, entered, leave) = (lock.clone(), entered.clone(), leave.clone());
                        spawn(move || {
                            let guard = lock.read().unwrap();
                            entered.send(*guard).unwrap();
                            leave.recv().unwrap();
                        })
                    })
                    .collect();
                assert_eq!(all_in.iter().take(n).sum::<i32>(), 7 * n as i32);
                assert!(lock.try_write().is_err());
                (0..n).for_each(|_| go.send(()).unwrap());
                readers.into_iter().for_each(|reader| reader.join().unwrap());
                assert!(lock.try_write().is_ok());
            }
        });
    });
}

/// `TestWaitGroup`, `TestWaitGroupRace`: used again and again, and who waits goes on when all are
/// done, not before.
#[test]
fn wait_groups() {
    each_runtime(|rt| {
        rt.run(|| {
            let (one, two) = (Arc::new(WaitGroup::new()), Arc::new(WaitGroup::new()));
            for _ in 0..8 {
                let n = 16;
                one.add(n);
                two.add(n);
                let exited = Arc::new(AtomicUsize::new(0));
                let tasks: Vec<_> = (0..n)
                    .map(|_| {
                        let (one, two, exited) = (one.clone(), two.clone(), exited.clone());
                        spawn(move || {
                            one.done();
                            two.wait();
                            exited.fetch_add(1, SeqCst);
                        })
                    })
                    .collect();
                one.wait();
                for left in (0..n).rev() {
                    assert_eq!(exited.load(SeqCst), 0, "released too soon");
                    two.done();
                    if left == 0 {
                        break;
                    }
                }
                tasks.into_iter().for_each(|task| task.join().unwrap());
                assert_eq!(exited.load(SeqCst), n);
            }
            for _ in 0..300 {
                let (group, n) = (Arc::new(WaitGroup::new()), Arc::new(AtomicUsize::new(0)));
                group.add(2);
                for _ in 0..2 {
                    let (group, n) = (group.clone(), n.clone());
                    drop(spawn(move || {
                        n.fetch_add(1, SeqCst);
                        group.done();
                    }));
                }
                group.wait();
                assert_eq!(n.load(SeqCst), 2);
            }
        });
    });
}

/// `TestCondSignal`, `TestCondBroadcast`: so many go on as were notified, and a broadcast wakes
/// those that wait, once.
#[test]
fn conditions() {
    each_runtime(|rt| {
        rt.run(|| {
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            let (awake, is_awake) = unbounded();
            let n = 20;
            for i in 0..n {
                let (shared, awake) = (shared.clone(), awake.clone());
                drop(spawn(move || {
                    let mut inside = shared.0.lock().unwrap();
                    *inside += 1;
                    drop(shared.1.wait(inside).unwrap());
                    awake.send(i).unwrap();
                }));
            }
            wait_until(|| *shared.0.lock().unwrap() == n);
            for left in (0..n / 2).rev() {
                assert_eq!(is_awake.try_recv(), Err(TryRecvError::Empty), "awake without a signal, {left} left");
                shared.1.notify_one();
                is_awake.recv().unwrap();
            }
            assert_eq!(is_awake.try_recv(), Err(TryRecvError::Empty));
            shared.1.notify_all();
            assert_eq!(is_awake.iter().take(n / 2).count(), n / 2);
            shared.1.notify_all();
            assert_eq!(is_awake.try_recv(), Err(TryRecvError::Empty));
        });
    });
}

/// `TestCondSignalStealing`: a signal that was made for one that waited is not stolen by one that
/// comes later.
#[test]
fn a_signal_is_not_stolen() {
    each_runtime(|rt| {
        rt.run(|| {
            for _ in 0..200 {
                let shared = Arc::new((Mutex::new(0), Condvar::new()));
                let first = spawn({
                    let shared = shared.clone();
                    move || {
                        let mut guard = shared.0.lock().unwrap();
                        *guard = 1;
                        // Not in a loop.
                        drop(shared.1.wait(guard).unwrap());
                    }
                });
                wait_until(|| *shared.0.lock().unwrap() == 1);
                // A second one comes about when the signal does. The first must be woken whatever
                // that one does.
                let second = spawn({
                    let shared = shared.clone();
                    move || {
                        let guard = shared.0.lock().unwrap();
                        drop(shared.1.wait_while(guard, |n| *n < 2).unwrap());
                    }
                });
                shared.1.notify_one();
                first.join().unwrap();
                *shared.0.lock().unwrap() = 2;
                shared.1.notify_all();
                second.join().unwrap();
            }
        });
    });
}

/// `TestOnce`, `TestOncePanic`, `TestOnceValue`: one does it, and all others wait until it is done.
/// A panic counts as not done here, and is told to all that ask; a value whose making has failed
/// fails again.
#[test]
fn once() {
    each_runtime(|rt| {
        rt.run(|| {
            let shared = Arc::new((Once::new(), AtomicUsize::new(0)));
            let tasks: Vec<_> = (0..10)
                .map(|_| {
                    let shared = shared.clone();
                    spawn(move || {
                        shared.0.call_once(|| {
                            myriad::yield_now();
                            shared.1.fetch_add(1, SeqCst);
                        });
                        assert_eq!(shared.1.load(SeqCst), 1, "not done yet");
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            let failing = Once::new();
            let fails = || resume_unwind(Box::new("planned"));
            assert!(catch_unwind(AssertUnwindSafe(|| failing.call_once(fails))).is_err());
            assert!(!failing.is_completed());
            assert!(catch_unwind(AssertUnwindSafe(|| failing.call_once(|| ()))).is_err(), "poisoned");
            let value: LazyLock<u32, _> = LazyLock::new(|| resume_unwind(Box::new("planned")));
            for _ in 0..3 {
                assert!(catch_unwind(AssertUnwindSafe(|| *value)).is_err(), "each time");
            }
            // Made once, by whoever asks first, and shared.
            let (cell, made) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
            let tasks: Vec<_> = (0..10)
                .map(|n| {
                    let (cell, made) = (cell.clone(), made.clone());
                    spawn(move || *cell.get_or_init(|| (made.fetch_add(1, SeqCst), n).1))
                })
                .collect();
            let all: Vec<i32> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
            assert!(all.iter().all(|n| *n == all[0]) && made.load(SeqCst) == 1, "{all:?}");
        });
    });
}

/// `TestWeighted`, `TestLargeAcquireDoesntStarve`: one that wants all gets all, though many take
/// one and give it back without end.
#[test]
fn a_large_acquire_does_not_starve() {
    each_runtime(|rt| {
        let n = 4;
        let semaphore = Arc::new(Semaphore::new(n));
        let (stop, stopped) = bounded::<()>(0);
        let small: Vec<_> = (0..2 * n)
            .map(|_| {
                let (semaphore, stopped) = (semaphore.clone(), stopped.clone());
                rt.spawn(move || {
                    while stopped.try_recv() == Err(TryRecvError::Empty) {
                        let _permit = semaphore.acquire();
                        myriad::yield_now();
                    }
                })
            })
            .collect();
        for _ in 0..10 {
            let semaphore = semaphore.clone();
            rt.run(move || {
                let all = semaphore.acquire_many(n);
                assert_eq!((all.count(), semaphore.available()), (n, 0));
            });
        }
        drop(stop);
        small.into_iter().for_each(|task| task.join().unwrap());
        assert_eq!(semaphore.available(), n);
    });
}

/// `TestWeightedTryAcquire`, and limits in time: what is not there is refused, and refusing takes
/// nothing.
#[test]
fn weighted_semaphores() {
    each_runtime(|rt| {
        rt.run(|| {
            let semaphore = Semaphore::new(2);
            let tries: Vec<_> = [1, 1, 1, 2].map(|n| semaphore.try_acquire_many(n)).into_iter().collect();
            assert_eq!(tries.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, false]);
            assert!(semaphore.acquire_many_timeout(2, Duration::from_millis(1)).is_err());
            drop(tries);
            assert_eq!(semaphore.try_acquire_many(2).map(|permit| permit.count()), Some(2));
            assert_eq!(semaphore.available(), 2);
        });
    });
}
