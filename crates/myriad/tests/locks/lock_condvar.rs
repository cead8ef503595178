//! Condition variables: nobody is missed, nobody wakes for nothing.

#![allow(clippy::await_holding_lock)] // it is what they are for

use crate::lock_common::*;
use myriad::sync::{Arc, Condvar, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

type Shared<T> = Arc<(Mutex<T>, Condvar)>;

/// A queue made of a mutex and two conditions, between all kinds of partners.
#[test]
fn a_bounded_queue_in_every_pairing() {
    const ITEMS: u64 = 300;
    each_runtime(|rt| {
        for producer in KINDS {
            for consumer in KINDS {
                let shared = Arc::new((Mutex::new(Vec::new()), Condvar::new(), Condvar::new()));
                let (s, s2) = (shared.clone(), shared.clone());
                let produces = start(
                    rt,
                    producer,
                    move || {
                        for i in 0..ITEMS {
                            let mut queue =
                                s.1.wait_while(s.0.lock().unwrap(), |q: &mut Vec<u64>| q.len() == 3).unwrap();
                            queue.insert(0, i);
                            s.2.notify_one();
                        }
                    },
                    async move {
                        for i in 0..ITEMS {
                            let mut queue = s2.0.lock_async().await.unwrap();
                            while queue.len() == 3 {
                                queue = s2.1.wait_async(queue).await.unwrap();
                            }
                            queue.insert(0, i);
                            s2.2.notify_one();
                        }
                    },
                );
                let (s, s2) = (shared.clone(), shared.clone());
                let consumes = start(
                    rt,
                    consumer,
                    move || {
                        for i in 0..ITEMS {
                            let mut queue = s.2.wait_while(s.0.lock().unwrap(), |q| q.is_empty()).unwrap();
                            assert_eq!(queue.pop(), Some(i));
                            s.1.notify_one();
                        }
                    },
                    async move {
                        for i in 0..ITEMS {
                            let mut queue = s2.0.lock_async().await.unwrap();
                            while queue.is_empty() {
                                queue = s2.2.wait_async(queue).await.unwrap();
                            }
                            assert_eq!(queue.pop(), Some(i));
                            s2.1.notify_one();
                        }
                    },
                );
                produces.join();
                consumes.join();
            }
        }
    });
}

/// `n` tasks wait; each notification ends one wait, in order, and none ends without.
#[test]
fn one_wait_for_each_notification_and_in_order() {
    each_runtime(|rt| {
        let shared: Shared<(usize, Vec<usize>)> = Arc::default();
        let n = 30;
        let tasks: Vec<_> = (0..n)
            .map(|i| {
                let s = shared.clone();
                let task = rt.spawn(move || {
                    let mut guard = s.0.lock().unwrap();
                    guard.0 += 1;
                    // No loop: a wake for nothing would be seen.
                    let mut guard = s.1.wait(guard).unwrap();
                    guard.1.push(i);
                });
                wait_until(|| shared.0.lock().unwrap().0 == i + 1);
                task
            })
            .collect();
        for i in 0..n {
            assert_eq!(shared.0.lock().unwrap().1.len(), i);
            shared.1.notify_one();
            wait_until(|| shared.0.lock().unwrap().1.len() == i + 1);
        }
        tasks.into_iter().for_each(|t| t.join().unwrap());
        assert!(shared.0.lock().unwrap().1.iter().copied().eq(0..n));
    });
}

#[test]
fn all_that_wait_and_none_that_comes_later() {
    each_runtime(|rt| {
        let shared: Shared<usize> = Arc::default();
        let woken = Arc::new(AtomicUsize::new(0));
        let waiter = || {
            let (s, woken) = (shared.clone(), woken.clone());
            rt.spawn(move || {
                let mut guard = s.0.lock().unwrap();
                *guard += 1;
                drop(s.1.wait(guard).unwrap());
                woken.fetch_add(1, SeqCst);
            })
        };
        let tasks: Vec<_> = (0..100).map(|_| waiter()).collect();
        wait_until(|| *shared.0.lock().unwrap() == 100);
        shared.1.notify_all();
        let late = waiter();
        tasks.into_iter().for_each(|t| t.join().unwrap());
        wait_until(|| *shared.0.lock().unwrap() == 101);
        assert_eq!(woken.load(SeqCst), 100);
        shared.1.notify_all();
        late.join().unwrap();
        shared.1.notify_all();
        shared.1.notify_one();
    });
}

#[test]
fn time_limits() {
    each_runtime(|rt| {
        let shared: Shared<u32> = Arc::default();
        let s = shared.clone();
        rt.run(move || {
            let limit = Duration::from_millis(2);
            let began = myriad::time::now();
            let (guard, result) = s.1.wait_timeout(s.0.lock().unwrap(), limit).unwrap();
            assert!(result.timed_out() && myriad::time::now() - began >= limit);
            let (guard, result) = s.1.wait_timeout_while(guard, limit, |n| *n == 0).unwrap();
            assert!(result.timed_out());
            let (guard, result) = s.1.wait_timeout_while(guard, limit, |n| *n == 1).unwrap();
            assert!(!result.timed_out());
            drop(guard);
            // The lock was held again each time, and is free now.
            assert!(s.0.try_lock().is_ok());
        });
        let s = shared.clone();
        let waiter = rt.spawn(move || {
            let mut guard = s.0.lock().unwrap();
            *guard = 1;
            s.1.wait_timeout(guard, LONG).unwrap().1.timed_out()
        });
        wait_until(|| *shared.0.lock().unwrap() == 1);
        shared.1.notify_one();
        assert!(!waiter.join().unwrap());
    });
}

/// A notification that was meant for a future that is dropped goes to the next; one for all does
/// not.
#[test]
fn a_dropped_future_passes_its_notification_on() {
    for all in [false, true] {
        let (lock, condition) = (Mutex::new(()), Condvar::new());
        let mut first = Box::pin(condition.wait_async(lock.lock().unwrap()));
        assert!(poll_once(first.as_mut()).is_pending());
        assert!(!lock.is_locked(), "given back while it waits");
        let mut second = (!all).then(|| Box::pin(condition.wait_async(lock.lock().unwrap())));
        second.iter_mut().for_each(|s| assert!(poll_once(s.as_mut()).is_pending()));
        if all {
            condition.notify_all();
        } else {
            condition.notify_one();
        }
        let mut second = second.take().unwrap_or_else(|| Box::pin(condition.wait_async(lock.lock().unwrap())));
        assert!(poll_once(second.as_mut()).is_pending());
        drop(first);
        assert_eq!(poll_once(second.as_mut()).is_ready(), !all);
    }
    // Dropped before it was polled: the lock is given back.
    let (lock, condition) = (Mutex::new(()), Condvar::new());
    drop(condition.wait_async(lock.lock().unwrap()));
    assert!(lock.try_lock().is_ok());
    // Dropped while it waits for the lock.
    let mut waits = Box::pin(condition.wait_async(lock.lock().unwrap()));
    assert!(poll_once(waits.as_mut()).is_pending());
    let guard = lock.lock().unwrap();
    condition.notify_one();
    assert!(poll_once(waits.as_mut()).is_pending());
    let mut next = Box::pin(condition.wait_async({
        drop(guard);
        lock.lock().unwrap()
    }));
    assert!(poll_once(next.as_mut()).is_pending());
    let guard = lock.lock().unwrap();
    drop(waits);
    drop(guard);
    assert!(
        poll_once(next.as_mut()).is_ready(),
        "it goes to the next also if it is dropped while it waits for the lock"
    );
    drop(next);
    assert!(lock.try_lock().is_ok());
}

#[test]
fn a_wait_hears_of_poison() {
    each_runtime(|rt| {
        let shared: Shared<u32> = Arc::default();
        let s = shared.clone();
        let waiter = rt.spawn(move || {
            let mut guard = s.0.lock().unwrap();
            *guard = 1;
            s.1.wait(guard).is_err()
        });
        wait_until(|| *shared.0.lock().unwrap() == 1);
        let s = shared.clone();
        let panics = rt.spawn(move || {
            let _guard = s.0.lock().unwrap();
            s.1.notify_one();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panics.join().is_err());
        assert!(waiter.join().unwrap());
    });
}
