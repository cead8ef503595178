//! The tests of std's own `Mutex`, `RwLock`, `Condvar`, `Once`, `OnceLock`, `LazyLock` and
//! `Barrier`, written anew from their scenarios, on Myriad's: tasks in both modes, and plain
//! threads beside them. (std's tests of `mpsc` are among crossbeam-channel's: `suites/README.md`.)
//!
//! (Over 600 lines: one file for what was one suite, so that a scenario is looked up in one place.)

use crate::common::{catch_planned, plan};
use crate::lock_common::*;
use myriad::channel::{bounded, unbounded};
use myriad::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard};
use myriad::{JoinHandle, spawn};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// A task that panics with this text.
fn panics(text: &str, f: impl FnOnce() + Send + 'static) {
    let task = spawn(f);
    catch_planned(text, || task.join().unwrap_or_else(|error| error.resume()));
}

/// Counts how often it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

// -------------------------------------------------------------------------------------------------------
// Mutex

/// `lots_and_lots`.
#[test]
fn mutex_lots_and_lots() {
    each_runtime(|rt| {
        let sum = Arc::new(Mutex::new(0));
        let (a, b) = (sum.clone(), sum.clone());
        all_kinds(
            rt,
            2,
            move || (0..500).for_each(|_| *a.lock().unwrap() += 1),
            || {
                let b = b.clone();
                async move {
                    for _ in 0..500 {
                        *b.lock_async().await.unwrap() += 1;
                    }
                }
            },
        );
        assert_eq!(*sum.lock().unwrap(), 6 * 500);
    });
}

/// `test_into_inner`, `test_into_inner_drop`, `test_get_mut`, `try_lock`.
#[test]
fn mutex_gives_its_value_back() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut mutex = Mutex::new(Counted(dropped.clone()));
    assert!(mutex.try_lock().is_ok());
    mutex.get_mut().unwrap().0 = dropped.clone();
    let inner = mutex.into_inner().unwrap();
    assert_eq!(dropped.load(SeqCst), 0);
    drop(inner);
    assert_eq!(dropped.load(SeqCst), 1);
}

/// `test_mutex_arc_poison`, `test_get_mut_poison`, `test_into_inner_poison`, `test_clear_poison`:
/// each tells of the poison, and gives the value.
#[test]
fn mutex_poison() {
    each_runtime(|rt| {
        rt.run(|| {
            let mutex = Arc::new(Mutex::new(1));
            let m = mutex.clone();
            panics("not held", move || {
                *m.lock().unwrap() += 1;
                plan("not held")
            });
            assert!(!mutex.is_poisoned());
            let m = mutex.clone();
            panics("held", move || {
                let mut guard = m.lock().unwrap();
                *guard = 3;
                plan("held")
            });
            assert!(mutex.is_poisoned());
            assert_eq!(*mutex.lock().unwrap_err().into_inner(), 3);
            assert!(mutex.try_lock().is_err());
            mutex.clear_poison();
            assert!(!mutex.is_poisoned() && mutex.lock().is_ok());
            let m = mutex.clone();
            panics("again", move || {
                let _guard = m.lock().unwrap();
                plan("again")
            });
            let mut mutex = Arc::into_inner(mutex).unwrap();
            assert_eq!(**mutex.get_mut().unwrap_err().get_ref(), 3);
            assert_eq!(mutex.into_inner().unwrap_err().into_inner(), 3);
        });
    });
}

/// `test_mutex_arc_nested`: a mutex in a mutex.
#[test]
fn mutex_nested() {
    each_runtime(|rt| {
        let inner = Arc::new(Mutex::new(1));
        let outer = Arc::new(Mutex::new(inner));
        let value = rt.run(move || {
            spawn(move || {
                let lock = outer.lock().unwrap();
                let inner = lock.lock().unwrap();
                *inner
            })
            .join()
            .unwrap()
        });
        assert_eq!(value, 1);
    });
}

/// `test_mutex_arc_access_in_unwind`, of `RwLock` too: a destructor locks while its task unwinds.
#[test]
fn locked_while_unwinding() {
    struct Unwinder(Arc<Mutex<i32>>, Arc<RwLock<i32>>);
    impl Drop for Unwinder {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
            *self.1.write().unwrap() += 1;
        }
    }
    each_runtime(|rt| {
        rt.run(|| {
            let (mutex, rw) = (Arc::new(Mutex::new(1)), Arc::new(RwLock::new(1)));
            let unwinder = Unwinder(mutex.clone(), rw.clone());
            panics("unwinds", move || {
                let _unwinder = unwinder;
                plan("unwinds")
            });
            assert_eq!((*mutex.lock().unwrap(), *rw.read().unwrap()), (2, 2));
        });
    });
}

/// `test_mutex_unsized`, `test_rwlock_unsized`.
#[test]
fn unsized_values() {
    let (mutex, rw): (&Mutex<[i32]>, &RwLock<[i32]>) = (&Mutex::new([1, 2, 3]), &RwLock::new([1, 2, 3]));
    mutex.lock().unwrap()[0] = 4;
    rw.write().unwrap()[0] = 4;
    assert_eq!((&*mutex.lock().unwrap(), &*rw.read().unwrap()), (&[4, 2, 3][..], &[4, 2, 3][..]));
}

// -------------------------------------------------------------------------------------------------------
// RwLock

/// `frob`: many read and write at random.
#[test]
fn rwlock_frob() {
    const N: usize = 400;
    each_runtime(|rt| {
        let (lock, writes) = (Arc::new(RwLock::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut random = Random::new(seed());
        let plan: Arc<Vec<bool>> = Arc::new((0..N).map(|_| random.below(10) == 0).collect());
        let (a, b) = (lock.clone(), lock.clone());
        let (plan_a, plan_b, writes_a, writes_b) = (plan.clone(), plan, writes.clone(), writes.clone());
        all_kinds(
            rt,
            2,
            move || {
                for &write in plan_a.iter() {
                    if write {
                        *a.write().unwrap() += 1;
                        writes_a.fetch_add(1, SeqCst);
                    } else {
                        drop(a.read().unwrap());
                    }
                }
            },
            || {
                let (b, plan, writes) = (b.clone(), plan_b.clone(), writes_b.clone());
                async move {
                    for &write in plan.iter() {
                        if write {
                            *b.write_async().await.unwrap() += 1;
                            writes.fetch_add(1, SeqCst);
                        } else {
                            drop(b.read_async().await.unwrap());
                        }
                    }
                }
            },
        );
        assert_eq!(*lock.read().unwrap(), writes.load(SeqCst));
    });
}

/// `test_rw_arc_poison_wr`, `_ww`, `test_rw_arc_no_poison_rr`, `_rw`, `test_clear_poison`: only who
/// writes poisons.
#[test]
fn rwlock_poison() {
    each_runtime(|rt| {
        rt.run(|| {
            let lock = Arc::new(RwLock::new(1));
            let l = lock.clone();
            panics("reads", move || {
                let _guard = l.read().unwrap();
                plan("reads")
            });
            assert!(!lock.is_poisoned() && lock.read().is_ok() && lock.write().is_ok());
            let l = lock.clone();
            panics("writes", move || {
                let _guard = l.write().unwrap();
                plan("writes")
            });
            assert!(lock.is_poisoned() && lock.read().is_err() && lock.write().is_err() && lock.try_read().is_err());
            lock.clear_poison();
            assert!(lock.read().is_ok() && lock.write().is_ok());
        });
    });
}

/// `test_rw_arc`: nobody reads what is half written.
#[test]
fn rwlock_arc() {
    each_runtime(|rt| {
        rt.run(|| {
            let lock = Arc::new(RwLock::new(0));
            let (done, is_done) = bounded(0);
            let l = lock.clone();
            spawn(move || {
                let mut guard = l.write().unwrap();
                for _ in 0..10 {
                    let before = std::mem::replace(&mut *guard, -1);
                    myriad::yield_now();
                    *guard = before + 1;
                }
                drop(guard);
                done.send(()).unwrap();
            });
            let readers: Vec<_> = (0..5)
                .map(|_| {
                    let lock = lock.clone();
                    spawn(move || assert!(*lock.read().unwrap() >= 0))
                })
                .collect();
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            is_done.recv().unwrap();
            assert_eq!(*lock.read().unwrap(), 10);
        });
    });
}

/// `downgrade_basic`, `downgrade_observe`, `downgrade_atomic`: between writing and reading nobody
/// else writes.
#[test]
fn rwlock_downgrade() {
    each_runtime(|rt| {
        rt.run(|| {
            let lock = Arc::new(RwLock::new(0_usize));
            let tasks: Vec<_> = (0..6)
                .map(|n| {
                    let lock = lock.clone();
                    spawn(move || {
                        for i in 0..50 {
                            let mut guard = lock.write().unwrap();
                            *guard = n * 50 + i;
                            let guard = RwLockWriteGuard::downgrade(guard);
                            if i % 8 == 0 {
                                myriad::yield_now();
                            }
                            assert_eq!(*guard, n * 50 + i);
                        }
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
            let reading = RwLockWriteGuard::downgrade(lock.write().unwrap());
            assert!(lock.try_read().is_ok() && lock.try_write().is_err());
            drop(reading);
            assert!(lock.try_write().is_ok());
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// Condvar

/// `notify_one`, `notify_all`, `test_mutex_arc_condvar`: all of ten wait, and are woken, one by one
/// or at once.
#[test]
fn condvar_notifies() {
    const N: usize = 10;
    each_runtime(|rt| {
        for at_once in [false, true] {
            let pair = Arc::new((Mutex::new((0, 0)), Condvar::new()));
            let (waits, all_wait) = unbounded();
            let waiting: Vec<_> = (0..N)
                .map(|i| {
                    let (pair, pair2) = (pair.clone(), pair.clone());
                    let (waits, waits2) = (waits.clone(), waits.clone());
                    start(
                        rt,
                        KINDS[i % 3],
                        move || {
                            let mut state = pair.0.lock().unwrap();
                            waits.send(()).unwrap();
                            while state.0 == 0 {
                                state = pair.1.wait(state).unwrap();
                            }
                            state.0 -= 1;
                            state.1 += 1;
                        },
                        async move {
                            let mut state = pair2.0.lock_async().await.unwrap();
                            waits2.send(()).unwrap();
                            while state.0 == 0 {
                                state = pair2.1.wait_async(state).await.unwrap();
                            }
                            state.0 -= 1;
                            state.1 += 1;
                        },
                    )
                })
                .collect();
            (0..N).for_each(|_| all_wait.recv().unwrap());
            if at_once {
                pair.0.lock().unwrap().0 = N;
                pair.1.notify_all();
            } else {
                for _ in 0..N {
                    pair.0.lock().unwrap().0 += 1;
                    pair.1.notify_one();
                }
            }
            waiting.into_iter().for_each(Running::join);
            assert_eq!(*pair.0.lock().unwrap(), (0, N));
        }
    });
}

/// `wait_while`, `wait_timeout_while_instant_satisfy`, `wait_timeout_while_wait`,
/// `wait_timeout_while_wake`, `wait_timeout_wait`.
#[test]
fn condvar_waits_while() {
    const SHORT: Duration = Duration::from_millis(5);
    each_runtime(|rt| {
        rt.run(|| {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let (guard, late) =
                pair.1.wait_timeout_while(pair.0.lock().unwrap(), Duration::ZERO, |ready| *ready).unwrap();
            assert!(!late.timed_out(), "there was nothing to wait for");
            let (guard, late) = pair.1.wait_timeout_while(guard, SHORT, |ready| !*ready).unwrap();
            assert!(late.timed_out() && !*guard);
            drop(guard);
            for limit in [None, Some(LONG)] {
                let other = pair.clone();
                let task = spawn(move || {
                    *other.0.lock().unwrap() = true;
                    other.1.notify_one();
                });
                let guard = pair.0.lock().unwrap();
                let mut guard = match limit {
                    None => pair.1.wait_while(guard, |ready| !*ready).unwrap(),
                    Some(limit) => {
                        let (guard, late) = pair.1.wait_timeout_while(guard, limit, |ready| !*ready).unwrap();
                        assert!(!late.timed_out());
                        guard
                    }
                };
                assert!(std::mem::take(&mut *guard));
                drop(guard);
                task.join().unwrap();
            }
            let (_guard, late) = pair.1.wait_timeout(pair.0.lock().unwrap(), SHORT).unwrap();
            assert!(late.timed_out());
        });
    });
}

/// `test_arc_condvar_poison`: who waits hears that who notified has panicked.
#[test]
fn condvar_poison() {
    each_runtime(|rt| {
        rt.run(|| {
            let pair = Arc::new((Mutex::new(1), Condvar::new()));
            let other = pair.clone();
            let guard = pair.0.lock().unwrap();
            let task: JoinHandle<()> = spawn(move || {
                // Gets the lock when the other one waits.
                let _guard = other.0.lock().unwrap();
                other.1.notify_one();
                plan("poisons")
            });
            assert!(pair.1.wait_while(guard, |value| *value == 1).is_err());
            catch_planned("poisons", || task.join().unwrap_or_else(|error| error.resume()));
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// Once

/// `stampede_once`: ten at a time, one runs it, and all see what it has done.
#[test]
fn once_stampede() {
    each_runtime(|rt| {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        RUNS.store(0, SeqCst);
        let once = Arc::new(Once::new());
        let o = once.clone();
        let body = |once: &Once| {
            once.call_once(|| {
                assert_eq!(RUNS.fetch_add(1, SeqCst), 0);
                myriad::yield_now();
                RUNS.fetch_add(1, SeqCst);
            });
            assert_eq!(RUNS.load(SeqCst), 2);
        };
        all_kinds(
            rt,
            4,
            move || body(&o),
            || {
                let once = once.clone();
                async move { body(&once) }
            },
        );
    });
}

/// `poison_bad`: who comes after a panic panics, one by force does not, and then all is well.
#[test]
fn once_poison() {
    each_runtime(|rt| {
        rt.run(|| {
            let once = Once::new();
            catch_planned("first", || once.call_once(|| plan("first")));
            assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| {}))).is_err());
            assert!(catch_unwind(AssertUnwindSafe(|| once.wait())).is_err());
            let (mut called, mut by_wait) = (false, false);
            once.call_once_force(|state| {
                called = true;
                assert!(state.is_poisoned());
            });
            once.call_once(|| by_wait = true);
            assert!(called && !by_wait && once.is_completed());
            once.wait();
        });
    });
}

/// `wait_for_force_to_finish`, `wait`: who comes while it runs by force waits for its end, and
/// hears of no poison.
#[test]
fn once_wait_for_force() {
    each_runtime(|rt| {
        rt.run(|| {
            let once = Arc::new(Once::new());
            assert!(catch_unwind(AssertUnwindSafe(|| once.call_once(|| plan("first")))).is_err());
            let ((runs, is_running), (go, may_end)) = (bounded(0), bounded::<()>(0));
            let o = once.clone();
            let forced = spawn(move || {
                o.call_once_force(|state| {
                    assert!(state.is_poisoned());
                    runs.send(()).unwrap();
                    may_end.recv().unwrap();
                });
            });
            is_running.recv().unwrap();
            let others: Vec<_> = (0..3)
                .map(|i| {
                    let once = once.clone();
                    spawn(move || if i == 0 { once.wait_force() } else { once.call_once(|| panic!("it runs already")) })
                })
                .collect();
            assert!(!once.is_completed());
            go.send(()).unwrap();
            forced.join().unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// OnceLock, LazyLock

/// `sync_once_cell`, `sync_once_cell_get_before_initialized`, `_into_inner`, `_drop`,
/// `_drop_empty`, `clone`, `from_impl`, `partialeq_impl`.
#[test]
fn once_lock_shapes() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let mut cell = OnceLock::new();
    assert!(cell.get().is_none() && cell.get_mut().is_none());
    assert!(cell.set(Counted(dropped.clone())).is_ok());
    assert!(cell.set(Counted(dropped.clone())).is_err());
    assert_eq!(dropped.load(SeqCst), 1);
    drop(cell.into_inner());
    assert_eq!(dropped.load(SeqCst), 2);
    drop(OnceLock::<Counted>::new());

    let (empty, full) = (OnceLock::<String>::new(), OnceLock::from("value".to_string()));
    assert_eq!((empty.clone(), full.clone()), (OnceLock::new(), OnceLock::from("value".to_string())));
    assert_ne!(empty, full);
    let mut full = full;
    *full.get_mut().unwrap() = "other".to_string();
    assert_eq!((full.take().as_deref(), full.get()), (Some("other"), None));
}

/// `sync_once_cell_get_or_try_init`, and a panic in it: the place stays empty, the next one fills
/// it.
#[test]
fn once_lock_tries_again() {
    each_runtime(|rt| {
        rt.run(|| {
            let cell = OnceLock::new();
            assert!(catch_unwind(AssertUnwindSafe(|| cell.get_or_init(|| plan("first")))).is_err());
            assert!(cell.get().is_none());
            assert_eq!(cell.get_or_try_init(|| Err::<i32, _>("second")), Err("second"));
            assert_eq!(cell.get_or_try_init(|| Ok::<_, &str>(3)), Ok(&3));
            assert_eq!(cell.get_or_init(|| unreachable!()), &3);
        });
    });
}

/// `sync_once_cell_does_not_leak_partially_constructed_boxes`: many fill many cells, all read the
/// same.
#[test]
fn once_lock_race() {
    each_runtime(|rt| {
        for _ in 0..20 {
            let cell: Arc<OnceLock<String>> = Arc::default();
            let (tx, rx) = unbounded();
            let (c, t) = (cell.clone(), tx.clone());
            all_kinds(
                rt,
                2,
                move || {
                    if let Some(value) = c.get() {
                        assert_eq!(value, "value");
                    }
                    if c.set("value".to_string()).is_ok() {
                        t.send(()).unwrap();
                    }
                    assert_eq!(c.wait(), "value");
                },
                || {
                    let (cell, tx) = (cell.clone(), tx.clone());
                    async move {
                        if cell.set("value".to_string()).is_ok() {
                            tx.send(()).unwrap();
                        }
                        assert_eq!(cell.wait_async().await, "value");
                    }
                },
            );
            assert_eq!(rx.len(), 1, "one has filled it");
        }
    });
}

/// `lazy_new`, `lazy_default`, `static_sync_lazy`, `lazy_type_inference`, `lazy_poisoning`.
#[test]
fn lazy_lock() {
    static LAZY: LazyLock<Vec<i32>> = LazyLock::new(|| (1..=3).collect());
    each_runtime(|rt| {
        rt.run(|| {
            let called = Cell::new(0);
            let lazy = LazyLock::new(|| {
                called.set(called.get() + 1);
                92
            });
            assert_eq!(called.get(), 0);
            assert_eq!((*lazy - 30, *lazy, *LazyLock::force(&lazy), called.get()), (62, 92, 92, 1));
            assert_eq!(*LazyLock::<String>::default(), "");
            assert_eq!(spawn(|| LAZY.len()).join().unwrap() + LAZY.len(), 6);
            let poisoned: LazyLock<String> = LazyLock::new(|| plan("made"));
            for _ in 0..2 {
                assert!(catch_unwind(AssertUnwindSafe(|| poisoned.len())).is_err());
            }
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// Barrier

/// `test_barrier`: nobody goes on before the last has come, and one of ten leads; again and again.
#[test]
fn barrier() {
    const N: usize = 10;
    each_runtime(|rt| {
        let barrier = Arc::new(Barrier::new(N));
        let (tx, rx) = unbounded();
        for _ in 0..3 {
            let others: Vec<_> = (0..N - 1)
                .map(|i| {
                    let (b, b2, tx, tx2) = (barrier.clone(), barrier.clone(), tx.clone(), tx.clone());
                    start(rt, KINDS[i % 3], move || tx.send(b.wait().is_leader()).unwrap(), async move {
                        tx2.send(b2.wait_async().await.is_leader()).unwrap()
                    })
                })
                .collect();
            wait_until(|| barrier.arrived() == N - 1);
            assert!(rx.is_empty(), "somebody has gone on before the last has come");
            let mut leaders = usize::from(barrier.wait().is_leader());
            others.into_iter().for_each(Running::join);
            leaders += rx.try_iter().filter(|leads| *leads).count();
            assert_eq!(leaders, 1);
        }
    });
}
