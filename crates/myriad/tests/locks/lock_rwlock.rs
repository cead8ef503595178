//! Read-write locks: exclusion, who is next, poisoning, cancellation.

#![allow(clippy::await_holding_lock)] // it is what they are for

use crate::lock_common::*;
use myriad::sync::{Arc, Barrier, LockTimeoutError, RwLock, RwLockWriteGuard, TryLockError};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::{Wake, Waker};
use std::time::Duration;

#[test]
fn readers_share_and_writers_do_not() {
    each_runtime(|rt| {
        let lock = Arc::new(RwLock::new((0_u64, 0_u64)));
        let (c, f) = (lock.clone(), lock.clone());
        all_kinds(
            rt,
            2,
            move || {
                for i in 0..300 {
                    if i % 4 == 0 {
                        let mut guard = c.write().unwrap();
                        guard.0 += 1;
                        if i % 40 == 0 {
                            myriad::yield_now();
                        }
                        guard.1 += 1;
                    } else {
                        let guard = c.read().unwrap();
                        assert_eq!(guard.0, guard.1);
                    }
                }
            },
            move || {
                let f = f.clone();
                async move {
                    for i in 0..300 {
                        if i % 4 == 0 {
                            let mut guard = f.write_async().await.unwrap();
                            guard.0 += 1;
                            guard.1 += 1;
                        } else {
                            let guard = f.read_async().await.unwrap();
                            assert_eq!(guard.0, guard.1);
                        }
                    }
                }
            },
        );
        assert_eq!(*lock.read().unwrap(), (6 * 75, 6 * 75));
    });
}

/// All readers are inside at a time, however few workers there are; also those who come while
/// others are let in.
#[test]
fn readers_meet_inside() {
    each_runtime(|rt| {
        let lock = Arc::new(RwLock::new(()));
        let meeting = Arc::new(Barrier::new(40));
        let writer = lock.write().unwrap();
        let readers: Vec<_> = (0..40)
            .map(|i| {
                let (lock, meeting) = (lock.clone(), meeting.clone());
                let (lock2, meeting2) = (lock.clone(), meeting.clone());
                start(
                    rt,
                    if i % 2 == 0 { Kind::Closure } else { Kind::Future },
                    move || {
                        let _guard = lock.read().unwrap();
                        meeting.wait();
                    },
                    async move {
                        let _guard = lock2.read_async().await.unwrap();
                        meeting2.wait_async().await;
                    },
                )
            })
            .collect();
        drop(writer);
        readers.into_iter().for_each(Running::join);
        assert!(lock.try_write().is_ok());
    });
}

/// The order: a writer that waits comes before readers that come later; after it, all of them; then
/// the next writer.
#[test]
fn writers_are_preferred_and_nobody_starves() {
    let lock = RwLock::new(());
    let reading = lock.read().unwrap();
    let mut w1 = Box::pin(lock.write_async());
    assert!(poll_once(w1.as_mut()).is_pending());
    assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)), "a writer waits");
    let (mut r1, mut r2) = (Box::pin(lock.read_async()), Box::pin(lock.read_async()));
    let mut w2 = Box::pin(lock.write_async());
    assert!(poll_once(r1.as_mut()).is_pending());
    assert!(poll_once(w2.as_mut()).is_pending());
    assert!(poll_once(r2.as_mut()).is_pending());
    drop(reading);
    let writing = now(poll_once(w1.as_mut())).unwrap();
    assert!(poll_once(r1.as_mut()).is_pending() && poll_once(w2.as_mut()).is_pending());
    drop(writing);
    // Both, though one came after the second writer.
    let (g1, g2) = (now(poll_once(r1.as_mut())).unwrap(), now(poll_once(r2.as_mut())).unwrap());
    let mut r3 = Box::pin(lock.read_async());
    assert!(poll_once(r3.as_mut()).is_pending(), "the second writer waits before it");
    drop(g1);
    assert!(poll_once(w2.as_mut()).is_pending());
    drop(g2);
    let writing = now(poll_once(w2.as_mut())).unwrap();
    drop(writing);
    drop(now(poll_once(r3.as_mut())).unwrap());
    assert!(lock.try_write().is_ok());
}

/// Given up in every state: readers behind a writer go on, who was let in leaves.
#[test]
fn a_future_dropped_in_every_state() {
    let lock = RwLock::new(());
    // A writer that waits, with a reader behind it.
    let reading = lock.read().unwrap();
    let mut writer = Box::pin(lock.write_async());
    let mut reader = Box::pin(lock.read_async());
    assert!(poll_once(writer.as_mut()).is_pending() && poll_once(reader.as_mut()).is_pending());
    drop(writer);
    drop(now(poll_once(reader.as_mut())).unwrap());
    drop(reading);
    assert!(lock.try_write().is_ok());
    // Handed over, not polled.
    for write in [false, true] {
        let writing = lock.write().unwrap();
        let (mut w, mut r) = (Box::pin(lock.write_async()), Box::pin(lock.read_async()));
        if write {
            assert!(poll_once(w.as_mut()).is_pending());
        } else {
            assert!(poll_once(r.as_mut()).is_pending());
        }
        drop(writing);
        assert!(lock.is_locked());
        drop((w, r));
        assert!(lock.try_write().is_ok());
    }
    // A reader that waits, alone.
    let writing = lock.write().unwrap();
    let mut reader = Box::pin(lock.read_async());
    assert!(poll_once(reader.as_mut()).is_pending());
    drop(reader);
    drop(writing);
    assert!(lock.try_write().is_ok());
}

#[test]
fn time_limits() {
    each_runtime(|rt| {
        let lock = Arc::new(RwLock::new(0));
        let reading = lock.read().unwrap();
        let l = lock.clone();
        rt.run(move || {
            assert!(matches!(l.write_timeout(Duration::from_millis(1)), Err(LockTimeoutError::Timeout)));
            // The writer has gone: reading is possible again.
            assert_eq!(*l.try_read().unwrap(), 0);
        });
        drop(reading);
        let writing = lock.write().unwrap();
        let l = lock.clone();
        rt.run(move || assert!(l.read_timeout(Duration::from_millis(1)).err().unwrap().is_timeout()));
        let l = lock.clone();
        let patient = rt.spawn(move || *l.write_timeout(LONG).unwrap() += 1);
        drop(writing);
        patient.join().unwrap();
        assert_eq!(*lock.read().unwrap(), 1);
    });
}

/// Time limits run out while readers and writers come and go: nobody is forgotten, and in the end
/// the lock is free.
#[test]
fn impatient_ones_between() {
    each_runtime(|rt| {
        let lock = Arc::new(RwLock::new(0_u64));
        let done = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..12)
            .map(|i| {
                let (lock, done) = (lock.clone(), done.clone());
                rt.spawn(move || {
                    for k in 0..200_u64 {
                        let limit = Duration::from_nanos((k * 7919 + i * 104_729) % 30_000);
                        match (i + k) % 3 {
                            0 => {
                                if let Ok(mut guard) = lock.write_timeout(limit) {
                                    *guard += 1;
                                    done.fetch_add(1, SeqCst);
                                    myriad::yield_now();
                                }
                            }
                            1 => _ = lock.read_timeout(limit).map(|_guard| myriad::yield_now()),
                            _ => {
                                *lock.write().unwrap() += 1;
                                done.fetch_add(1, SeqCst);
                            }
                        }
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*lock.try_read().unwrap() as usize, done.load(SeqCst));
        assert!(lock.try_write().is_ok());
    });
}

#[test]
fn downgrading_lets_readers_in_and_no_writer() {
    let lock = RwLock::new(1);
    let mut writing = lock.write().unwrap();
    let (mut reader, mut writer) = (Box::pin(lock.read_async()), Box::pin(lock.write_async()));
    assert!(poll_once(reader.as_mut()).is_pending());
    *writing = 2;
    let reading = RwLockWriteGuard::downgrade(writing);
    assert_eq!(*now(poll_once(reader.as_mut())).unwrap(), 2);
    assert!(poll_once(writer.as_mut()).is_pending());
    assert_eq!(*reading, 2);
    drop(reading);
    assert!(poll_once(writer.as_mut()).is_ready());
}

#[test]
fn poisoned_by_writers_only() {
    each_runtime(|rt| {
        let lock = Arc::new(RwLock::new(1));
        let l = lock.clone();
        assert!(
            rt.spawn(move || {
                let _reading = l.read();
                std::panic::resume_unwind(Box::new("on purpose"))
            })
            .join()
            .is_err()
        );
        assert!(!lock.is_poisoned());
        let l = lock.clone();
        assert!(
            rt.spawn(move || {
                let _writing = l.write();
                std::panic::resume_unwind(Box::new("on purpose"))
            })
            .join()
            .is_err()
        );
        assert!(lock.is_poisoned() && lock.read().is_err() && lock.try_write().is_err());
        lock.clear_poison();
        assert_eq!(*lock.read().unwrap(), 1);
    });
}

#[test]
fn shaped_as_std() {
    static IN_A_STATIC: RwLock<Vec<u8>> = RwLock::new(Vec::new());
    IN_A_STATIC.write().unwrap().push(1);
    assert_eq!(format!("{:?}", &IN_A_STATIC), "RwLock { data: [1], poisoned: false, .. }");
    let mut lock = RwLock::from(3);
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.into_inner().unwrap(), 4);
}

/// A waker that does not return before it is let go.
#[derive(Default)]
struct Held {
    called: AtomicUsize,
    over: AtomicBool,
}

impl Wake for Held {
    fn wake(self: Arc<Self>) {
        self.called.fetch_add(1, SeqCst);
        wait_until(|| self.over.load(SeqCst));
    }
}

/// A writer that leaves holds nothing while it wakes: when the readers that it has let in have
/// gone, nobody has the lock, though the first one's waker has not returned.
#[test]
fn a_leaving_writer_holds_nothing() {
    each_runtime(|rt| {
        for n in [1, 3, 40] {
            let lock: &'static RwLock<i32> = Box::leak(Box::new(RwLock::new(0)));
            let held = Arc::new(Held::default());
            let waker = Waker::from(held.clone());
            let mut guard = lock.write().unwrap();
            let mut readers: Vec<_> = (0..n).map(|_| Box::pin(lock.read_async())).collect();
            assert!(poll_with(readers[0].as_mut(), &waker).is_pending());
            readers[1..].iter_mut().for_each(|reader| assert!(poll_once(reader.as_mut()).is_pending()));
            let leaves = move || {
                *guard = 1;
                drop(guard);
            };
            // (A waker that is slow: on a thread of its own, as the task's worker is wanted.)
            let leaver = std::thread::spawn(leaves);
            wait_until(|| held.called.load(SeqCst) == 1);
            let first = now(poll_with(readers[0].as_mut(), &waker)).unwrap();
            assert_eq!(*first, 1);
            let last = rt.spawn(move || *lock.read().unwrap());
            assert_eq!(last.join().unwrap(), 1, "all read that waited, and no writer waits");
            assert!(lock.try_write().is_err());
            drop(first);
            // The others read, whether they know or not; given up, they leave.
            readers.drain(..).for_each(drop);
            assert!(!lock.is_locked(), "{n} readers have gone, and nobody writes");
            *lock.try_write().expect("nobody has it") += 1;
            held.over.store(true, SeqCst);
            leaver.join().unwrap();
            assert_eq!(held.called.load(SeqCst), 1);
            assert_eq!(*lock.try_read().unwrap(), 2);
        }
    });
}

/// As before, with plain threads, as somebody has seen it.
#[test]
fn free_when_the_last_reader_has_gone() {
    for _ in 0..300 {
        let lock = Arc::new(RwLock::new(0));
        let guard = lock.write().unwrap();
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let lock = lock.clone();
                std::thread::spawn(move || drop(lock.read().unwrap()))
            })
            .collect();
        std::thread::scope(|s| {
            s.spawn(move || drop(guard));
            readers.into_iter().for_each(|reader| reader.join().unwrap());
            assert!(lock.try_write().is_ok(), "all readers have gone, and nobody writes");
        });
    }
}
