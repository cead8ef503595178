//! Guards that own a share of their lock, and guards of a part of a value.

use crate::lock_common::*;
use myriad::sync::{Arc, MappedGuard, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// A guard goes into a task that outlives the borrow, and is the last that has the lock.
#[test]
fn owned_by_a_task() {
    each_runtime(|rt| {
        let (lock, rw) = (Arc::new(Mutex::new(1)), Arc::new(RwLock::new(1)));
        let mut guard = MutexGuard::into_owned(lock.lock().unwrap(), &lock);
        let mut written = RwLockWriteGuard::into_owned(rw.write().unwrap(), &rw);
        let weak = (Arc::downgrade(&lock), Arc::downgrade(&rw));
        assert!(lock.try_lock().is_err() && rw.try_read().is_err());
        drop((lock, rw));
        let task = rt.spawn(move || {
            *guard += 1;
            *written += 1;
            let read = RwLockWriteGuard::downgrade(written);
            (*guard, *read)
        });
        assert_eq!(task.join().unwrap(), (2, 2));
        assert!(weak.0.upgrade().is_none() && weak.1.upgrade().is_none(), "nobody has them any more");
    });
}

/// Each form of locking makes one.
#[test]
fn owned_in_every_form() {
    let (lock, rw) = (Arc::new(Mutex::new(1)), Arc::new(RwLock::new(1)));
    drop(MutexGuard::into_owned(lock.try_lock().unwrap(), &lock));
    drop(MutexGuard::into_owned(lock.lock_timeout(LONG).unwrap(), &lock));
    let l = lock.clone();
    let guard = myriad::block_on(async move { MutexGuard::into_owned(l.lock_async().await.unwrap(), &l) });
    assert!(lock.is_locked());
    drop(guard);
    let two = [0, 1].map(|_| RwLockReadGuard::into_owned(rw.read().unwrap(), &rw));
    assert!(rw.try_write().is_err());
    drop(two);
    assert!(lock.try_lock().is_ok() && rw.try_write().is_ok());
}

#[test]
fn of_another_lock() {
    let (lock, other) = (Mutex::new(1), Arc::new(Mutex::new(1)));
    let told = refusal(|| MutexGuard::into_owned(lock.lock().unwrap(), &other));
    assert!(told.contains("another Mutex"), "{told}");
    assert!(!lock.is_locked() && !other.is_locked());
    let (lock, other) = (RwLock::new(1), Arc::new(RwLock::new(1)));
    assert!(refusal(|| RwLockReadGuard::into_owned(lock.read().unwrap(), &other)).contains("another RwLock"));
    assert!(refusal(|| RwLockWriteGuard::into_owned(lock.write().unwrap(), &other)).contains("another RwLock"));
    assert!(!lock.is_locked() && !other.is_locked());
}

#[test]
fn a_part_of_a_value() {
    let lock = Arc::new(Mutex::new((1, vec![2, 3])));
    let mut part = MutexGuard::map(lock.lock().unwrap(), |value| &mut value.1[1]);
    *part += 10;
    assert_eq!(format!("{part} {part:?}"), "13 13");
    assert!(lock.is_locked());
    drop(part);
    let guard = MutexGuard::filter_map(lock.lock().unwrap(), |value| value.1.get_mut(5)).unwrap_err();
    let part = MutexGuard::filter_map(guard, |value| value.1.get_mut(1)).unwrap();
    assert_eq!(*part, 13);
    drop(part);
    // Owned, and unsized.
    let owned = MutexGuard::into_owned(lock.lock().unwrap(), &lock);
    let mut part: MappedGuard<_, [i32]> = MutexGuard::map(owned, |value| &mut value.1[..]);
    part[0] = 4;
    drop(part);
    assert_eq!(*lock.try_lock().unwrap(), (1, vec![4, 13]));
}

#[test]
fn a_part_that_is_read_or_written() {
    let lock = RwLock::new((1, Some(2)));
    let one = RwLockReadGuard::map(lock.read().unwrap(), |value| &value.0);
    let two = RwLockReadGuard::filter_map(lock.read().unwrap(), |value| value.1.as_ref()).unwrap();
    assert_eq!((*one, *two), (1, 2));
    drop(one);
    assert!(lock.try_write().is_err(), "the other part is read");
    drop(two);
    let mut part = RwLockWriteGuard::map(lock.write().unwrap(), |value| &mut value.1);
    assert!(lock.try_read().is_err());
    *part = None;
    drop(part);
    assert!(RwLockReadGuard::filter_map(lock.read().unwrap(), |value| value.1.as_ref()).is_err());
    assert!(RwLockWriteGuard::filter_map(lock.write().unwrap(), |value| value.1.as_mut()).is_err());
    assert!(lock.try_write().is_ok());
}

/// A panic of the closure, or while the part is held, is one of the section.
#[test]
fn a_part_poisons() {
    let lock = Mutex::new(1);
    let panics = || MutexGuard::map(lock.lock().unwrap(), |_| -> &mut i32 { std::panic::resume_unwind(Box::new(())) });
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert!(lock.is_poisoned() && !lock.is_locked());
    lock.clear_poison();
    let panics = || {
        let _part = MutexGuard::map(lock.lock().unwrap(), |value| value);
        std::panic::resume_unwind(Box::new(()));
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert!(lock.is_poisoned() && !lock.is_locked());
}

/// A part is held over a wait, by a task that moves.
#[test]
fn a_part_is_sent() {
    each_runtime(|rt| {
        let lock = Arc::new(Mutex::new([1, 2]));
        let owned = MutexGuard::into_owned(lock.lock().unwrap(), &lock);
        let mut part = MutexGuard::map(owned, |value| &mut value[1]);
        rt.spawn_async(async move {
            myriad::time::sleep_async(Duration::from_micros(1)).await;
            *part += 1;
        })
        .join()
        .unwrap();
        assert_eq!(*lock.try_lock().unwrap(), [1, 3]);
    });
}
