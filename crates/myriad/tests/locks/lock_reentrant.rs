//! Re-entrant locks: the owner is the task.

use crate::lock_common::*;
use myriad::sync::{Arc, ReentrantLock};
use std::cell::Cell;
use std::time::Duration;

#[test]
fn the_owner_locks_again_and_others_wait() {
    each_runtime(|rt| {
        let lock = Arc::new(ReentrantLock::new(Cell::new(0_u64)));
        fn add(lock: &ReentrantLock<Cell<u64>>, depth: u32) {
            let guard = lock.lock();
            let before = guard.get();
            if depth > 0 {
                add(lock, depth - 1);
                if depth == 3 {
                    // Set aside in the middle: nobody else comes in.
                    myriad::yield_now();
                }
                assert_eq!(guard.get(), before + 1);
            } else {
                guard.set(before + 1);
            }
        }
        let (c, f) = (lock.clone(), lock.clone());
        all_kinds(
            rt,
            3,
            move || (0..100).for_each(|i| add(&c, i % 5)),
            move || {
                let f = f.clone();
                async move {
                    for i in 0..100 {
                        add(&f, i % 5);
                    }
                }
            },
        );
        assert_eq!(lock.lock().get(), 900);
        assert!(!lock.is_locked());
    });
}

/// The owner is the task, not the thread: another task on the same worker waits, also one that runs
/// on top of the owner's stack.
#[test]
fn another_task_on_the_same_worker_is_another_owner() {
    each_runtime(|rt| {
        let lock = Arc::new(ReentrantLock::new(Cell::new(0)));
        rt.run(move || {
            let guard = lock.lock();
            let (l, l2) = (lock.clone(), lock.clone());
            // Joined before it has begun, it is called by this task's join.
            assert!(myriad::spawn(move || l.try_lock().is_none() && !l.is_held_by_me()).join().unwrap());
            myriad::scope(|s| assert!(s.spawn(|| lock.try_lock().is_none()).join().unwrap()));
            assert!(lock.is_held_by_me() && lock.try_lock().is_some());
            let waits = myriad::spawn(move || l2.lock().set(1));
            for _ in 0..3 {
                myriad::yield_now();
                assert_eq!(guard.get(), 0);
                assert!(lock.is_held_by_me(), "still this task's, after a wait");
            }
            drop(guard);
            waits.join().unwrap();
            assert_eq!(lock.lock().get(), 1);
        });
    });
}

/// An owner that leaks its guard keeps the lock, though its record is used for other tasks
/// afterwards.
#[test]
fn a_leaked_guard_is_nobody_elses() {
    each_runtime(|rt| {
        let lock = Arc::new(ReentrantLock::new(()));
        let l = lock.clone();
        rt.spawn(move || std::mem::forget(l.lock())).join().unwrap();
        for _ in 0..1000 {
            let l = lock.clone();
            assert!(rt.spawn(move || l.try_lock().is_none()).join().unwrap());
        }
        assert!(lock.is_locked());
    });
}

#[test]
fn time_limits_and_futures() {
    each_runtime(|rt| {
        let lock = Arc::new(ReentrantLock::new(Cell::new(0)));
        let guard = lock.lock();
        let l = lock.clone();
        rt.run(move || {
            assert!(l.lock_timeout(Duration::from_millis(1)).is_err());
            assert!(l.try_lock().is_none());
        });
        assert!(lock.lock_timeout(Duration::ZERO).is_ok(), "the owner need not wait");
        myriad::block_on(async { lock.lock_async().await.set(1) });
        let l = lock.clone();
        let waits = rt.run(move || myriad::spawn_async(async move { l.lock_async().await.set(2) }));
        assert_eq!(guard.get(), 1);
        let mut dropped = Box::pin(lock.lock_async());
        std::thread::scope(|s| _ = s.spawn(|| assert!(poll_once(dropped.as_mut()).is_pending())));
        drop(dropped);
        drop(guard);
        waits.join().unwrap();
        assert_eq!(lock.lock().get(), 2);
    });
}

#[test]
fn given_back_by_a_panic() {
    each_runtime(|rt| {
        let lock = Arc::new(ReentrantLock::new(()));
        let l = lock.clone();
        let panics = rt.spawn(move || {
            let (_a, _b) = (l.lock(), l.lock());
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panics.join().is_err());
        drop(lock.lock());
    });
}

#[test]
fn unlocked_by_another_is_told() {
    each_runtime(|rt| {
        let lock = Arc::new(ReentrantLock::new(()));
        // SAFETY: refused, nothing is unlocked.
        let told = refusal(|| unsafe { lock.force_unlock() });
        assert!(told.contains("does not hold it (nobody does)"), "{told}");
        std::mem::forget(lock.lock());
        let l = lock.clone();
        // SAFETY: refused, nothing is unlocked.
        let told = rt.run(move || refusal(|| unsafe { l.force_unlock() }));
        assert!(told.contains("(another one does)") && told.contains("unlocks what it has locked"), "{told}");
        // SAFETY: the guard was forgotten.
        unsafe { lock.force_unlock() };
        assert!(!lock.is_locked());
    });
}
