//! Mutexes: exclusion between all kinds of partners, fairness, poisoning, cancellation.

#![allow(clippy::await_holding_lock)] // it is what they are for

use crate::lock_common::*;
use myriad::channel::{bounded, rendezvous};
use myriad::sync::{Arc, LockTimeoutError, Mutex, TryLockError};
use myriad::time::now as clock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn one_at_a_time_in_every_pairing() {
    each_runtime(|rt| {
        let counter = Arc::new(Mutex::new((0_u64, false)));
        let (c, f) = (counter.clone(), counter.clone());
        let step = |value: &mut (u64, bool)| {
            assert!(!std::mem::replace(&mut value.1, true), "two at a time");
            value.0 += 1;
        };
        all_kinds(
            rt,
            3,
            move || {
                for i in 0..500 {
                    let mut guard = c.lock().unwrap();
                    step(&mut guard);
                    if i % 50 == 0 {
                        std::thread::yield_now();
                        myriad::yield_now();
                    }
                    guard.1 = false;
                }
            },
            move || {
                let f = f.clone();
                async move {
                    for _ in 0..500 {
                        let mut guard = f.lock_async().await.unwrap();
                        step(&mut guard);
                        guard.1 = false;
                    }
                }
            },
        );
        assert_eq!(counter.lock().unwrap().0, 9 * 500);
    });
}

/// The value moves with the lock: what one holder wrote the next one reads.
#[test]
fn held_over_every_wait() {
    each_runtime(|rt| {
        let value = Arc::new(Mutex::new(0));
        let (tx, rx) = rendezvous::<u32>();
        let v = value.clone();
        let holder = rt.spawn(move || {
            let mut guard = v.lock().unwrap();
            let inner = myriad::spawn(|| 1);
            let (a, b) = myriad::join(|| 10, || 100);
            let sum = myriad::scope(|s| s.spawn(|| 1000).join().unwrap());
            myriad::time::sleep(Duration::from_millis(1));
            *guard += inner.join().unwrap() + a + b + sum + rx.recv().unwrap();
        });
        let v = value.clone();
        wait_until(|| v.is_locked());
        let others: Vec<_> = (0..20).map(|_| start_incrementing(rt, &value)).collect();
        tx.send(10_000).unwrap();
        holder.join().unwrap();
        others.into_iter().for_each(Running::join);
        assert_eq!(*value.lock().unwrap(), 11_111 + 20);
    });
}

fn start_incrementing(rt: &myriad::Runtime, value: &Arc<Mutex<u32>>) -> Running<()> {
    let (a, b) = (value.clone(), value.clone());
    start(rt, Kind::Closure, move || *a.lock().unwrap() += 1, async move { *b.lock_async().await.unwrap() += 1 })
}

/// Where the waiting worker may take another iteration that wants the lock which stands below on
/// the same stack, this hangs.
#[test]
fn held_over_a_join_while_siblings_want_it() {
    each_runtime(|rt| {
        let lock = Mutex::new(0);
        fn both(lock: &Mutex<i32>, n: u32) {
            if n == 0 {
                let mut guard = lock.lock().unwrap();
                myriad::join(std::thread::yield_now, myriad::yield_now);
                *guard += 1;
                return;
            }
            myriad::join(|| both(lock, n - 1), || both(lock, n - 1));
        }
        assert_eq!(
            rt.run(move || {
                both(&lock, 6);
                lock.into_inner().unwrap()
            }),
            64
        );
    });
}

#[test]
fn held_over_an_await_by_a_future_that_moves() {
    each_runtime(|rt| {
        let value = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let value = value.clone();
                rt.run(|| {
                    myriad::spawn_async(async move {
                        let mut guard = value.lock_async().await.unwrap();
                        myriad::time::sleep_async(Duration::from_micros(50)).await;
                        *guard += 1;
                    })
                })
            })
            .collect();
        tasks.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*value.lock().unwrap(), 10);
    });
}

#[test]
fn ten_thousand_tasks_wait_on_one_worker() {
    for mode in modes() {
        // Threads mode: each waits with a thread of its own.
        let n = if mode == Mode::Fibers { 10_000 } else { 500 };
        let rt = mode.runtime(1);
        let lock = Arc::new(Mutex::new(Vec::new()));
        let guard = lock.lock().unwrap();
        let began = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..n)
            .map(|i| {
                let (lock, began) = (lock.clone(), began.clone());
                rt.spawn(move || {
                    began.fetch_add(1, SeqCst);
                    lock.lock().unwrap().push(i);
                })
            })
            .collect();
        wait_until(|| began.load(SeqCst) == n);
        drop(guard);
        tasks.into_iter().for_each(|t| t.join().unwrap());
        let mut order = std::mem::take(&mut *lock.lock().unwrap());
        order.sort_unstable();
        assert!(order.into_iter().eq(0..n));
    }
}

#[test]
fn trying_never_waits() {
    let lock = Mutex::new(1);
    let guard = lock.try_lock().unwrap();
    assert!(matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    drop(guard);
    assert_eq!(*lock.try_lock().unwrap(), 1);
    assert!(!lock.is_locked());
}

#[test]
fn a_time_limit_is_never_early_and_has_no_effect() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new(()));
        let guard = lock.lock().unwrap();
        for kind in [Kind::Closure, Kind::Thread] {
            let l = lock.clone();
            let limit = Duration::from_millis(5);
            let waits = move || {
                let began = clock();
                let Err(LockTimeoutError::Timeout) = l.lock_timeout(limit) else { panic!("it is locked") };
                assert!(clock() - began >= limit);
                let Err(error) = l.lock_deadline(began) else { panic!("it is locked") };
                assert!(error.is_timeout());
            };
            start(rt, kind, waits, async {}).join();
        }
        drop(guard);
        assert!(lock.try_lock().is_ok());
        assert!(lock.lock_timeout(Duration::ZERO).is_ok(), "free: no need to wait");
    });
}

#[test]
fn a_time_limit_that_is_long_enough() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new(0));
        let guard = lock.lock().unwrap();
        let l = lock.clone();
        let waiter = rt.spawn(move || *l.lock_timeout(LONG).unwrap() += 1);
        drop(guard);
        waiter.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 1);
    });
}

/// As std's: a panic marks the value, whoever locks hears of it and may mend it.
#[test]
fn poisoning() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new(1));
        let l = lock.clone();
        let holder = rt.spawn(move || {
            let mut guard = l.lock().unwrap();
            *guard = 2;
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(holder.join().is_err());
        assert!(lock.is_poisoned());
        assert_eq!(*lock.lock().unwrap_err().into_inner(), 2);
        assert!(matches!(lock.try_lock(), Err(TryLockError::Poisoned(_))));
        assert!(matches!(lock.lock_timeout(LONG), Err(LockTimeoutError::Poisoned(_))));
        assert!(myriad::block_on(lock.lock_async()).is_err());
        lock.clear_poison();
        assert_eq!(*lock.lock().unwrap(), 2);
    });
}

/// Locked by a destructor that runs because of a panic: that is not a panic in the section.
#[test]
fn a_destructor_that_locks_does_not_poison() {
    struct Counts<'a>(&'a Mutex<u32>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let lock = Mutex::new(0);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _counts = Counts(&lock);
        std::panic::resume_unwind(Box::new("on purpose"));
    }));
    assert!(result.is_err());
    assert_eq!(*lock.lock().unwrap(), 1);
}

#[test]
fn a_future_dropped_in_every_state_wakes_the_next() {
    for handed_over in [false, true] {
        let lock = Mutex::new(());
        let (wakes1, waker1) = Wakes::new();
        let (wakes2, waker2) = Wakes::new();
        let mut guard = lock.lock().unwrap();
        let mut never = Box::pin(lock.lock_async());
        let mut first = Box::pin(lock.lock_async());
        let mut second = Box::pin(lock.lock_async());
        assert!(poll_once(never.as_mut()).is_pending());
        assert!(poll_with(first.as_mut(), &waker1).is_pending());
        assert!(poll_with(second.as_mut(), &waker2).is_pending());
        drop(never);
        if handed_over {
            // It loses four times, then it is given the lock.
            for lost in 1..=4 {
                drop(guard);
                assert_eq!(wakes1.count(), lost);
                guard = lock.try_lock().unwrap();
                assert!(poll_with(first.as_mut(), &waker1).is_pending());
            }
        }
        drop(guard);
        assert_eq!(lock.is_locked(), handed_over);
        assert_eq!(wakes2.count(), 0);
        drop(first);
        assert_eq!(wakes2.count(), 1, "handed over: {handed_over}");
        let guard = now(poll_with(second.as_mut(), &waker2)).unwrap();
        drop((guard, second));
        assert!(lock.try_lock().is_ok());
    }
}

/// Who was woken four times and found the lock taken is handed it: nobody can come between.
#[test]
fn who_starves_is_handed_the_lock() {
    let lock = Mutex::new(());
    let (wakes, waker) = Wakes::new();
    let mut waiting = Box::pin(lock.lock_async());
    let mut guard = lock.lock().unwrap();
    assert!(poll_with(waiting.as_mut(), &waker).is_pending());
    for lost in 1..=4 {
        drop(guard);
        assert_eq!(wakes.count(), lost);
        guard = lock.try_lock().expect("who comes first takes it");
        assert!(poll_with(waiting.as_mut(), &waker).is_pending());
    }
    drop(guard);
    assert_eq!(wakes.count(), 5);
    assert!(lock.try_lock().is_err(), "it has been handed over");
    drop(now(poll_with(waiting.as_mut(), &waker)).unwrap());
    assert!(lock.try_lock().is_ok());
}

/// Two that lock and unlock all the time do not keep a third from it.
#[test]
fn nobody_starves() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new(0));
        let over = Arc::new(AtomicBool::new(false));
        let greedy: Vec<_> = [Kind::Closure, Kind::Thread]
            .map(|kind| {
                let (lock, over) = (lock.clone(), over.clone());
                let takes = move || {
                    while !over.load(SeqCst) {
                        *lock.lock().unwrap() += 1;
                    }
                };
                start(rt, kind, takes, async {})
            })
            .into();
        let l = lock.clone();
        let modest = rt.spawn(move || (0..100).for_each(|_| *l.lock().unwrap() += 1));
        modest.join().unwrap();
        for _ in 0..100 {
            *lock.lock().unwrap() += 1;
        }
        over.store(true, SeqCst);
        greedy.into_iter().for_each(Running::join);
    });
}

/// A task that asks for something under a lock again and again, without ever blocking, lets the
/// others run that it waits for.
#[test]
fn a_polling_loop_lets_others_run() {
    each_runtime(|rt| {
        let flag = Arc::new(Mutex::new(false));
        let f = flag.clone();
        rt.run(move || {
            let sets = {
                let f = f.clone();
                myriad::spawn(move || *f.lock().unwrap() = true)
            };
            while !*f.lock().unwrap() {}
            sets.join().unwrap();
        });
    });
}

/// A destructor that runs because of a panic may lock what is free, however often: it is not set
/// aside.
#[test]
fn a_destructor_in_a_panic_is_not_made_to_yield() {
    struct LocksOften(Arc<Mutex<u32>>, Arc<AtomicUsize>);
    impl Drop for LocksOften {
        fn drop(&mut self) {
            let before = self.1.swap(0, SeqCst);
            assert!(before > 0);
            for _ in 0..1000 {
                *self.0.lock().unwrap() += 1;
            }
            assert_eq!(self.1.swap(usize::MAX / 2, SeqCst), 0, "another task has run meanwhile");
        }
    }
    for mode in modes() {
        let rt = mode.runtime(1);
        let lock = Arc::new(Mutex::new(0));
        let l = lock.clone();
        let task = rt.spawn(move || {
            let turns = Arc::new(AtomicUsize::new(0));
            let t = turns.clone();
            drop(myriad::spawn(move || {
                while t.fetch_add(1, SeqCst) < usize::MAX / 2 {
                    myriad::yield_now();
                }
            }));
            wait_until(|| turns.load(SeqCst) > 0);
            let _locks = LocksOften(l, turns);
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(task.join().is_err());
        assert_eq!(*lock.try_lock().unwrap(), 1000, "{mode}");
    }
}

#[test]
fn a_guard_goes_to_another_thread() {
    each_runtime(|rt| {
        let lock: &'static Mutex<u32> = Box::leak(Box::new(Mutex::new(0)));
        let (tx, rx) = bounded(1);
        let taker = rt.spawn(move || assert!(tx.send(lock.lock().unwrap()).is_ok()));
        let mut guard = rx.recv().unwrap();
        *guard += 1;
        taker.join().unwrap();
        assert!(lock.try_lock().is_err());
        drop(guard);
        assert_eq!(*lock.try_lock().unwrap(), 1);
    });
}

#[test]
fn misuse_is_told() {
    let lock = Mutex::new(());
    // SAFETY: refused, nothing is unlocked.
    let told = refusal(|| unsafe { lock.force_unlock() });
    assert!(told.contains("nobody has locked"), "{told}");
    std::mem::forget(lock.lock());
    // SAFETY: the guard was forgotten.
    unsafe { lock.force_unlock() };
    assert!(lock.try_lock().is_ok());
}

#[test]
fn small_and_shaped_as_std() {
    assert_eq!(size_of::<Mutex<()>>(), 16);
    static IN_A_STATIC: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    IN_A_STATIC.lock().unwrap().push(1);
    let mut lock: Mutex<i32> = 5.into();
    *lock.get_mut().unwrap() += 1;
    assert_eq!(format!("{lock:?}"), "Mutex { data: 6, poisoned: false, .. }");
    let guard = lock.lock().unwrap();
    assert_eq!(format!("{lock:?} {guard:?} {guard}"), "Mutex { data: <locked>, poisoned: false, .. } 6 6");
    drop(guard);
    assert_eq!(lock.into_inner().unwrap(), 6);
    let unsized_one: &Mutex<[u8]> = &Mutex::new([1, 2]);
    unsized_one.lock().unwrap()[0] = 3;
    fn must_be<T: Send + Sync + std::panic::RefUnwindSafe>(_: &T) {}
    must_be(&IN_A_STATIC);
    fn must_be_send<T: Send>(_: T) {}
    must_be_send(IN_A_STATIC.lock_async());
    must_be_send(IN_A_STATIC.lock());
}
