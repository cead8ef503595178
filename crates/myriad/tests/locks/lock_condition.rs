//! Conditions with values: whom a notification reaches, in which order, with what; and what becomes
//! of it when the one it is for gives up.

#![allow(clippy::await_holding_lock)] // it is what they are for

use crate::lock_common::*;
use myriad::sync::{Arc, Condition, Event, Mutex, ReentrantLock};
use myriad::time::Instant;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const PAST: Instant = Instant::from_nanos(0);

/// A value that counts its clones and drops.
struct Value(usize, Arc<AtomicUsize>);

impl Value {
    fn new(n: usize, alive: &Arc<AtomicUsize>) -> Value {
        alive.fetch_add(1, SeqCst);
        Value(n, alive.clone())
    }
}
impl Clone for Value {
    fn clone(&self) -> Value {
        Value::new(self.0, &self.1)
    }
}
impl Drop for Value {
    fn drop(&mut self) {
        self.1.fetch_sub(1, SeqCst);
    }
}

/// One for each notification, first come, first served; and one that comes when nobody waits comes
/// back.
#[test]
fn one_by_one_in_order() {
    each_runtime(|rt| {
        rt.run(|| {
            let condition = Condition::new();
            assert_eq!(condition.notify_one("early"), Err("early"));
            assert_eq!((condition.notify_all("early"), condition.is_empty()), (0, true));
            assert!(condition.wait_deadline(PAST).is_err() && condition.wait_timeout(Duration::ZERO).is_err());
            let mut waits = [(); 4].map(|()| Box::pin(condition.wait_async()));
            assert!(waits.iter_mut().all(|wait| poll_once(wait.as_mut()).is_pending()));
            assert!(!condition.is_empty());
            for (i, text) in ["a", "b"].into_iter().enumerate() {
                assert_eq!(condition.notify_one(text), Ok(()));
                assert!(poll_once(waits[i + 1].as_mut()).is_pending());
                assert_eq!(now(poll_once(waits[i].as_mut())), text);
            }
            assert_eq!(condition.notify_all("all"), 2);
            assert_eq!([2, 3].map(|i| now(poll_once(waits[i].as_mut()))), ["all", "all"]);
        });
    });
}

/// Of every kind: all that wait are notified, with a clone each, and the values go.
#[test]
fn all_kinds_are_told() {
    each_runtime(|rt| {
        let (condition, alive) = (Arc::new(Condition::<Value>::new()), Arc::new(AtomicUsize::new(0)));
        let waiting: Vec<_> = (0..9)
            .map(|i| {
                let (c, c2) = (condition.clone(), condition.clone());
                start(rt, KINDS[i % 3], move || c.wait().0, async move { c2.wait_async().await.0 })
            })
            .collect();
        let mut told = 0;
        while told < 9 {
            told += condition.notify_all(Value::new(7, &alive));
            myriad::yield_now();
        }
        assert!(waiting.into_iter().map(Running::join).all(|n| n == 7));
        assert_eq!((told, alive.load(SeqCst)), (9, 0));
    });
}

/// Who jumps the queue is first, also before another who did; but a notification of all is not for
/// one who comes after it.
#[test]
fn first_of_all() {
    each_runtime(|rt| {
        rt.run(|| {
            let condition = Condition::new();
            let mut last = pin!(condition.wait_async());
            assert!(poll_once(last.as_mut()).is_pending());
            let line = condition.first();
            let (mut first, mut before) = (pin!(line.wait_async()), pin!(line.wait_async()));
            assert!(poll_once(first.as_mut()).is_pending() && poll_once(before.as_mut()).is_pending());
            (1..=3).for_each(|n| condition.notify_one(n).unwrap());
            assert_eq!(now(poll_once(before)), 1);
            assert_eq!(now(poll_once(first)), 2);
            assert_eq!(now(poll_once(last)), 3);
            assert!(line.wait_timeout(Duration::ZERO).is_err());
        });
    });
}

/// A clone lets somebody jump the queue in the middle of a notification.
#[test]
fn who_comes_meanwhile_is_not_among_all() {
    struct Jumps(Rc<dyn Fn()>);
    impl Clone for Jumps {
        fn clone(&self) -> Self {
            self.0();
            Jumps(self.0.clone())
        }
    }
    let condition: &'static Condition<Jumps> = Box::leak(Box::new(Condition::new()));
    let line = Box::leak(Box::new(condition.first()));
    let late = Rc::new(RefCell::new(Box::pin(line.wait_async())));
    let mut waits = [(); 2].map(|()| Box::pin(condition.wait_async()));
    assert!(waits.iter_mut().all(|wait| poll_once(wait.as_mut()).is_pending()));
    let jump = Rc::new(move || assert!(poll_once(late.borrow_mut().as_mut()).is_pending()));
    assert_eq!(condition.notify_all(Jumps(jump.clone())), 2);
    assert!(waits.iter_mut().all(|wait| poll_once(wait.as_mut()).is_ready()));
    jump();
}

/// Errors make waits fail: they are values.
#[test]
fn errors_are_values() {
    each_runtime(|rt| {
        let condition = Arc::new(Condition::<Result<u32, String>>::new());
        let c = condition.clone();
        let waiting = rt.spawn(move || c.wait());
        wait_until(|| condition.notify_all(Err("the server is gone".into())) == 1);
        assert_eq!(waiting.join().unwrap(), Err("the server is gone".to_string()));
    });
}

/// With a mutex: who notifies under the lock is not missed; the lock is held again afterwards.
#[test]
fn with_a_mutex() {
    each_runtime(|rt| {
        for kind in KINDS {
            let shared = Arc::new((Mutex::new(0), Condition::new()));
            let (s, s2) = (shared.clone(), shared.clone());
            let waiting = start(
                rt,
                kind,
                move || {
                    let (mut guard, value) = {
                        let mut guard = s.0.lock().unwrap();
                        *guard += 1;
                        s.1.wait_with(guard).unwrap()
                    };
                    assert!(s.0.try_lock().is_err(), "it has it again");
                    *guard += value;
                },
                async move {
                    let mut guard = s2.0.lock_async().await.unwrap();
                    *guard += 1;
                    let (mut guard, value) = s2.1.wait_with_async(guard).await.unwrap();
                    assert!(s2.0.try_lock().is_err());
                    *guard += value;
                },
            );
            wait_until(|| *shared.0.lock().unwrap() == 1);
            let guard = shared.0.lock().unwrap();
            assert_eq!(shared.1.notify_one(10), Ok(()), "it waits: it gave the lock back when it stood in line");
            drop(guard);
            waiting.join();
            assert_eq!(*shared.0.lock().unwrap(), 11);
            let (guard, value) = shared.1.wait_with_timeout(shared.0.lock().unwrap(), Duration::ZERO).unwrap();
            assert_eq!((*guard, value), (11, None));
        }
    });
}

/// With a reentrant lock: given back and taken again, by a notification or a time limit; after a
/// cancellation nobody has it.
#[test]
fn with_a_reentrant_lock() {
    each_runtime(|rt| {
        let shared = Arc::new((ReentrantLock::new(()), Condition::new()));
        let [s, s2, s3] = [(); 3].map(|()| shared.clone());
        let waits = move |s: &(ReentrantLock<()>, Condition<u32>), limit: Option<Duration>| {
            let guard = s.0.lock();
            let (guard, result) = match limit {
                None => {
                    let (guard, value) = s.1.first().wait_with_reentrant(guard);
                    (guard, Some(value))
                }
                Some(limit) => s.1.wait_with_reentrant_timeout(guard, limit),
            };
            assert!(s.0.is_held_by_me());
            drop(guard);
            assert!(!s.0.is_held_by_me());
            result
        };
        let waiting = rt.spawn(move || waits(&s, None));
        wait_until(|| {
            let _guard = shared.0.lock();
            shared.1.notify_one(5).is_ok()
        });
        assert_eq!(waiting.join().unwrap(), Some(5));
        assert_eq!(rt.spawn(move || waits(&s2, Some(Duration::from_micros(10)))).join().unwrap(), None);
        assert!(!shared.0.is_locked());
        // Cancelled while another one holds the lock: the task unwinds without it.
        let begun = Arc::new(Event::new());
        let b = begun.clone();
        let cancelled = rt.spawn(move || {
            let guard = s3.0.lock();
            b.set();
            _ = s3.1.wait_with_reentrant(guard);
        });
        begun.wait();
        let guard = shared.0.lock();
        assert!(!shared.1.is_empty());
        cancelled.cancel();
        assert!(cancelled.join().unwrap_err().is_cancelled());
        assert!(shared.1.is_empty() && shared.0.is_held_by_me());
        drop(guard);
        assert!(!shared.0.is_locked());
    });
}

/// A second guard of the caller's would reach the value while others have the lock: from a
/// thread-local, by another task of the worker, or by the waker of the next in line.
#[test]
fn a_reentrant_lock_that_was_taken_twice_is_refused() {
    each_runtime(|rt| {
        rt.run(|| {
            let (lock, condition) = (ReentrantLock::new(std::cell::Cell::new(0)), Condition::<()>::new());
            let outer = lock.lock();
            let told = refusal(|| _ = condition.wait_with_reentrant_deadline(lock.lock(), PAST));
            assert!(told.contains("more than once"), "{told}");
            outer.set(1);
            let (guard, said) = condition.wait_with_reentrant_deadline(outer, PAST);
            assert_eq!((guard.get(), said), (1, None));
        });
    });
}

/// Given up after it was notified: another has it; dropped if nobody waits. One that was for all
/// goes with its copy.
#[test]
fn a_notification_goes_to_another() {
    each_runtime(|rt| {
        rt.run(|| {
            let (condition, alive, mutex) = (Condition::new(), Arc::new(AtomicUsize::new(0)), Mutex::new(()));
            let (mut first, mut second) = (Box::pin(condition.wait_async()), Box::pin(condition.wait_async()));
            assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
            assert!(condition.notify_one(Value::new(1, &alive)).is_ok());
            drop(first);
            assert_eq!(now(poll_once(second.as_mut())).0, 1);
            // It cannot have its lock again.
            let mut locks = Box::pin(condition.wait_with_async(mutex.lock().unwrap()));
            assert!(poll_once(locks.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
            assert!(condition.notify_one(Value::new(2, &alive)).is_ok());
            let held = mutex.lock().unwrap();
            assert!(poll_once(locks.as_mut()).is_pending());
            drop((locks, held));
            assert_eq!(now(poll_once(second.as_mut())).0, 2);
            // Nobody else.
            assert!(poll_once(second.as_mut()).is_pending());
            assert!(condition.notify_one(Value::new(3, &alive)).is_ok());
            drop(second);
            assert_eq!(alive.load(SeqCst), 0);
            // Never polled, it gives the lock back.
            drop(condition.wait_with_async(mutex.lock().unwrap()));
            assert!(mutex.try_lock().is_ok());
        });
    });
}

/// Cancelled and notified at the same time, of many: as many values arrive as were sent, or are
/// dropped with nobody waiting.
#[test]
fn notified_or_cancelled() {
    each_runtime(|rt| {
        for _ in 0..30 {
            let (condition, alive) = (Arc::new(Condition::new()), Arc::new(AtomicUsize::new(0)));
            let tasks: Vec<_> = (0..8)
                .map(|_| {
                    let c = condition.clone();
                    rt.spawn(move || c.wait())
                })
                .collect();
            let handles: Vec<_> = tasks.iter().step_by(2).collect();
            let (c, a) = (condition.clone(), alive.clone());
            let notifier = rt.spawn(move || {
                let mut sent = 0;
                while sent < 4 {
                    sent += usize::from(c.notify_one(Value::new(sent, &a)).is_ok());
                    myriad::yield_now();
                }
            });
            handles.iter().for_each(|task| task.cancel());
            notifier.join().unwrap();
            // Those that are not cancelled and had none yet.
            let mut got = 0;
            let mut rest = 0;
            for (i, task) in tasks.into_iter().enumerate() {
                if i % 2 == 0 {
                    got += usize::from(task.join().is_ok());
                } else {
                    while !task.is_finished() {
                        rest += condition.notify_all(Value::new(9, &alive));
                        myriad::yield_now();
                    }
                    assert!(task.join().is_ok());
                }
            }
            assert_eq!((got + 4 - rest, alive.load(SeqCst)), (4, 0), "{got} of the cancelled ones had one");
        }
    });
}

/// A clone that panics ends the notification; who has had nothing waits on.
#[test]
fn a_clone_panics() {
    struct Once(Arc<AtomicUsize>);
    impl Clone for Once {
        fn clone(&self) -> Self {
            assert_eq!(self.0.fetch_add(1, SeqCst), 0, "no more");
            Once(self.0.clone())
        }
    }
    let condition = Condition::new();
    let mut waits = [(); 2].map(|()| Box::pin(condition.wait_async()));
    assert!(waits.iter_mut().all(|wait| poll_once(wait.as_mut()).is_pending()));
    let notify = || condition.notify_all(Once(Arc::default()));
    assert!(catch_unwind(AssertUnwindSafe(notify)).is_err());
    assert!(poll_once(waits[0].as_mut()).is_ready());
    assert!(poll_once(waits[1].as_mut()).is_pending());
    assert!(condition.notify_one(Once(Arc::default())).is_ok());
    assert!(poll_once(waits[1].as_mut()).is_ready());
}

/// Polled again after it was ready, it does not give back the lock, which is the new guard's.
#[test]
fn a_future_that_was_ready_keeps_off_the_lock() {
    let (mutex, condition) = (Mutex::new(0), Condition::new());
    let mut wait = Box::pin(condition.wait_with_async(mutex.lock().unwrap()));
    assert!(poll_once(wait.as_mut()).is_pending());
    condition.notify_one(1).unwrap();
    let (guard, value) = now(poll_once(wait.as_mut())).unwrap();
    assert_eq!(value, 1);
    let told = refusal(|| poll_once(wait.as_mut()).is_ready());
    assert!(told.contains("polled again"), "{told}");
    assert!(condition.is_empty() && mutex.try_lock().is_err(), "it is held");
    drop((guard, wait));
    assert!(mutex.try_lock().is_ok());
}

/// The lock's next one is a future with a foreign waker, which panics, or waits. It finds nobody's
/// wait half begun.
#[test]
fn wakers_that_panic_or_wait_when_the_lock_is_given_back() {
    struct Panics;
    impl std::task::Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    struct Waits(Event, Event);
    impl std::task::Wake for Waits {
        fn wake(self: Arc<Self>) {
            self.0.set();
            self.1.wait();
        }
    }
    each_runtime(|rt| {
        for foreign in [false, true] {
            let mutex = Arc::new(Mutex::new(()));
            let (condition, condvar) = (Arc::new(Condition::new()), Arc::new(myriad::sync::Condvar::new()));
            let run = |f: Box<dyn FnOnce() + Send>| match foreign {
                true => std::thread::spawn(f).join().unwrap(),
                false => rt.spawn(f).join().unwrap(),
            };
            // Without the lock: a future that was woken and is not polled keeps it from others.
            let notifier = |told: Arc<Waits>, done: Arc<AtomicUsize>| {
                let (condition, condvar) = (condition.clone(), condvar.clone());
                rt.spawn(move || {
                    told.0.wait();
                    while condition.notify_one(7).is_err() {
                        myriad::yield_now();
                    }
                    told.1.set();
                    while done.load(SeqCst) == 0 {
                        condvar.notify_all();
                        myriad::yield_now();
                    }
                })
            };
            for waits in [true, false] {
                let done = Arc::new(AtomicUsize::new(0));
                let told = Arc::new(Waits(Event::new(), Event::new()));
                let waker = || if waits { told.clone().into() } else { Arc::new(Panics).into() };
                let (first, second): (std::task::Waker, std::task::Waker) = (waker(), waker());
                if !waits {
                    told.0.set();
                }
                let notifier = notifier(told.clone(), done.clone());
                let (mutex2, condition, condvar) = (mutex.clone(), condition.clone(), condvar.clone());
                run(Box::new(move || {
                    let guard = mutex2.lock().unwrap();
                    let mut next = Box::pin(mutex2.lock_async());
                    assert!(crate::lock_common::poll_with(next.as_mut(), &first).is_pending());
                    let (guard, value) = condition.wait_with(guard).unwrap();
                    assert_eq!(value, 7);
                    drop(next);
                    let mut next = Box::pin(mutex2.lock_async());
                    assert!(crate::lock_common::poll_with(next.as_mut(), &second).is_pending());
                    let _guard = condvar.wait(guard).unwrap();
                    done.store(1, SeqCst);
                }));
                notifier.join().unwrap();
            }
        }
    });
}
