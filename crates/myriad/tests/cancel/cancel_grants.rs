//! A cancellation at the very moment of what was waited for (a lock that is handed over, a permit,
//! a notification, a message): that goes to somebody else, or is kept.

use crate::cancel_common::*;
use myriad::channel::unbounded;
use myriad::select::{self, Order, Won};
use myriad::sync::{Condvar, Mutex, RwLock, Semaphore};
use myriad::{JoinHandle, scope, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Two wait in line, one thing is granted, and the first is cancelled at that moment. Whoever gets
/// it, somebody does.
fn race(name: &str, wait: impl Fn() + Send + Sync + Clone + 'static, grant: impl Fn()) {
    let mut rng = Rng(name.len() as u64);
    for _ in 0..300 {
        let ended = Arc::new(AtomicUsize::new(0));
        let start = || {
            let (wait, ended) = (wait.clone(), ended.clone());
            begin(move || {
                wait();
                ended.fetch_add(1, SeqCst);
            })
        };
        let (first, second) = (start(), start());
        for _ in 0..rng.below(3) {
            yield_now();
        }
        scope(|s| {
            let (pause, first) = (rng.below(300), &first);
            s.spawn(move || {
                (0..pause).for_each(|_| std::hint::spin_loop());
                first.cancel();
            });
            (0..rng.below(300)).for_each(|_| std::hint::spin_loop());
            grant();
        });
        // If the first has it, the second gets another one.
        let cancelled = match first.join() {
            Ok(()) => false,
            Err(error) => {
                assert!(error.is_cancelled(), "{name}: {error}");
                true
            }
        };
        if !cancelled {
            grant();
        }
        second.join().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ended.load(SeqCst), 2 - usize::from(cancelled), "{name}");
    }
}

#[test]
fn a_grant_at_the_same_time() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let s = Arc::new(Semaphore::new(1));
            let _kept = s.acquire();
            let waits = s.clone();
            race("a permit", move || waits.acquire().forget(), || s.add_permits(1));
            assert_eq!(s.available(), 0);

            let (tx, rx) = unbounded::<u32>();
            let r = rx.clone();
            race("a message", move || assert_eq!(r.recv(), Ok(1)), || tx.send(1).unwrap());
            assert!(rx.is_empty());

            let ((tx, rx), (_tx2, rx2)) = (unbounded::<u32>(), unbounded::<u32>());
            let r = rx.clone();
            let selects = move || match select::wait(Order::Fair, (r.recv_arm(), rx2.recv_arm())) {
                Won::A0(message) => assert_eq!(message, Ok(1)),
                Won::A1(_) => unreachable!(),
            };
            race("a message for a select", selects, || tx.send(1).unwrap());
            assert!(rx.is_empty());
        });
    });
}

/// A notification may not be lost with the one that it was for. (It counts tickets: a notification
/// for nobody is no ticket.)
#[test]
fn a_notification_at_the_same_time() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            for round in 0..300 {
                let pair = Arc::new((Mutex::new(0u32), Condvar::new()));
                let start = |pair: &Arc<(Mutex<u32>, Condvar)>| {
                    let pair = pair.clone();
                    begin(move || {
                        let mut waiting = pair.0.lock().unwrap();
                        *waiting += 1;
                        drop(pair.1.wait(waiting).unwrap());
                    })
                };
                let (first, second) = (start(&pair), start(&pair));
                // Both are in the line: they give the lock back only there.
                wait_until(|| *pair.0.lock().unwrap() == 2);
                scope(|s| {
                    let first = &first;
                    s.spawn(move || {
                        (0..round).for_each(|_| std::hint::spin_loop());
                        first.cancel();
                    });
                    // Held for a while, so that who is notified has to wait for it.
                    let guard = pair.0.lock().unwrap();
                    pair.1.notify_one();
                    (0..round % 7).for_each(|_| yield_now());
                    drop(guard);
                });
                if first.join().is_ok() {
                    pair.1.notify_one();
                }
                second.join().unwrap();
            }
        });
    });
}

/// A mutex that is handed over to one who is cancelled goes to the next.
#[test]
fn a_lock_at_the_same_time() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (m, l) = (Arc::new(Mutex::new(0u64)), Arc::new(RwLock::new(0u64)));
            let (done, mut rng) = (Arc::new(AtomicUsize::new(0)), Rng(3));
            for round in 0..300u64 {
                let guards = (m.lock().unwrap(), l.write().unwrap());
                let tasks: Vec<_> = (0..6)
                    .map(|i| {
                        let (m, l, done) = (m.clone(), l.clone(), done.clone());
                        spawn(move || {
                            match i % 3 {
                                0 => *m.lock().unwrap() += 1,
                                1 => *l.write().unwrap() += 1,
                                _ => assert!(*l.read().unwrap() <= 2 * (round + 1)),
                            }
                            done.fetch_add(1, SeqCst);
                        })
                    })
                    .collect();
                (0..rng.below(4)).for_each(|_| yield_now());
                scope(|s| {
                    let (pause, tasks) = (rng.below(400), &tasks);
                    s.spawn(move || {
                        (0..pause).for_each(|_| std::hint::spin_loop());
                        tasks[..4].iter().for_each(JoinHandle::cancel);
                    });
                    drop(guards);
                });
                let ended = tasks.into_iter().map(|task| task.join().is_ok()).collect::<Vec<_>>();
                assert!(ended[4] && ended[5], "{ended:?}");
            }
            let sections = *m.lock().unwrap() + *l.write().unwrap();
            assert!(sections as usize <= done.load(SeqCst));
            assert!(m.try_lock().is_ok() && l.try_write().is_ok(), "nobody holds them");
        });
    });
}
