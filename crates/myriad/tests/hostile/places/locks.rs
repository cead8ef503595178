//! Closures and values of locks.

use crate::behaviours::{Behaviour, When};
use crate::cell::{Cx, Seen};
use myriad::sync::{
    Arc, Condition, Condvar, LazyLock, Mutex, Once, OnceLock, OwnedPermit, RwLock, Semaphore, SingleFlight,
};
use myriad::{block_on, spawn};
use std::future::Future;
use std::task::{Context, Waker};
use std::time::Duration;

/// The initialiser of a `Once`.
pub(crate) fn once(cx: &Cx) -> Seen {
    let once = Arc::new(Once::new());
    let wait = cx.last_sender();
    let other = once.clone();
    cx.foe.on_again(move || assert!(!other.is_completed() && other.wait_timeout(Duration::from_micros(10)).is_err()));
    let seen = Seen::of(|| once.call_once(|| cx.act()));
    wait();
    seen
}

/// The initialiser of a `OnceLock`.
pub(crate) fn once_lock(cx: &Cx) -> Seen {
    let lock = Arc::new(OnceLock::new());
    let wait = cx.last_sender();
    let other = lock.clone();
    cx.foe.on_again(move || assert!(other.get().is_none() && other.wait_timeout(Duration::from_micros(10)).is_err()));
    let seen = Seen::of(|| {
        lock.get_or_init(|| {
            cx.act();
            5
        });
    });
    // After a panic the next one does it.
    assert_eq!(*lock.get_or_init(|| 5), 5);
    wait();
    seen
}

/// The same as a future.
pub(crate) fn once_lock_async(cx: &Cx) -> Seen {
    let lock = Arc::new(OnceLock::new());
    let wait = cx.last_sender();
    let other = lock.clone();
    cx.foe.on_again(move || assert!(other.get().is_none()));
    let seen = Seen::of(|| {
        block_on(async {
            lock.get_or_init_async(|| async {
                cx.act();
                5
            })
            .await;
        })
    });
    assert_eq!(*lock.get_or_init(|| 5), 5);
    wait();
    seen
}

/// The initialiser of a `LazyLock`.
pub(crate) fn lazy_lock(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let inner = cx.clone();
    let lock = LazyLock::new(move || {
        inner.act();
        5
    });
    let seen = Seen::of(|| assert_eq!(*lock, 5));
    wait();
    seen
}

/// A value that comes too late, or goes with its lock.
pub(crate) fn once_value(cx: &Cx) -> Seen {
    let lock = OnceLock::new();
    let wait = cx.last_sender();
    assert!(lock.set(cx.value()).is_ok());
    let seen = Seen::of(|| drop(lock));
    wait();
    seen
}

/// The value of a mutex goes with the mutex, which a task holds last.
pub(crate) fn mutex_value(cx: &Cx) -> Seen {
    let lock = Arc::new(Mutex::new(cx.value()));
    let wait = cx.last_sender();
    let other = lock.clone();
    let h = spawn(move || drop(other.lock()));
    drop(lock);
    let seen = Seen::joined(h.join());
    wait();
    match seen {
        // It was the task's, or the caller's.
        Seen::Well => Seen::of(|| ()),
        seen => seen,
    }
}

/// A value that is replaced under its lock: its destructor runs while the lock is held.
pub(crate) fn replaced_under_lock(cx: &Cx) -> Seen {
    let lock = Arc::new(Mutex::new(cx.value()));
    let other = lock.clone();
    cx.foe
        .on_again(move || assert!(other.try_lock().is_err() && other.lock_timeout(Duration::from_micros(10)).is_err()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| *lock.lock().unwrap() = cx.value_when(When::Clone, 0));
    assert_eq!(lock.is_poisoned(), seen == Seen::Panic);
    wait();
    seen
}

/// The same for a read-write lock.
pub(crate) fn replaced_under_write(cx: &Cx) -> Seen {
    let lock = Arc::new(RwLock::new(cx.value()));
    let other = lock.clone();
    cx.foe
        .on_again(move || assert!(other.try_read().is_err() && other.read_timeout(Duration::from_micros(10)).is_err()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| *lock.write().unwrap() = cx.value_when(When::Clone, 0));
    wait();
    seen
}

/// A condition that a wait asks, under the lock.
pub(crate) fn wait_while(cx: &Cx) -> Seen {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let other = pair.clone();
    cx.foe.on_again(move || assert!(other.0.try_lock().is_err()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let guard = pair.0.lock().unwrap();
        _ = pair.1.wait_timeout_while(guard, Duration::from_micros(50), |_| {
            cx.act();
            true
        });
    });
    wait();
    seen
}

/// A value that goes to who waits, and is not taken.
pub(crate) fn condition_value(cx: &Cx) -> Seen {
    let condition = Condition::new();
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let mut waits = Box::pin(condition.wait_async());
        assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(condition.notify_one(cx.value()).is_ok());
        drop(waits);
    });
    wait();
    seen
}

/// Clones of a value for all who wait.
pub(crate) fn condition_clone(cx: &Cx) -> Seen {
    let condition = Arc::new(Condition::new());
    let wait = cx.last_sender();
    let other = condition.clone();
    cx.foe.on_again(move || _ = other.is_empty());
    let seen = {
        let mut waits = [(); 2].map(|_| Box::pin(condition.wait_async()));
        let pending = waits.iter_mut().all(|w| w.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert!(pending);
        Seen::of(|| condition.notify_all(cx.value_when(When::Clone, 0)))
    };
    wait();
    seen
}

/// A permit that owns its semaphore, which goes with it.
pub(crate) fn owned_permit(cx: &Cx) -> Seen {
    let semaphore = Arc::new(Semaphore::new(1));
    let value = cx.value();
    let wait = cx.last_sender();
    let permit: OwnedPermit = semaphore.acquire().into_owned(&semaphore);
    drop(semaphore);
    let seen = Seen::of(|| {
        drop(permit);
        drop(value);
    });
    wait();
    seen
}

/// The work that many ask for.
pub(crate) fn single_flight(cx: &Cx) -> Seen {
    let flight = Arc::new(SingleFlight::<u32, u32>::new());
    let other = flight.clone();
    cx.foe.on_again(move || {
        other.forget(&1);
        assert_eq!(other.run(2, || 6), (6, false));
    });
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        flight.run(1, || {
            cx.act();
            5
        })
    });
    assert_eq!(flight.run(1, || 7).0, 7);
    wait();
    seen
}

/// Keys of it, which are dropped when the work is done: B11 of the findings.
pub(crate) fn single_flight_key(cx: &Cx) -> Seen {
    let flight = Arc::new(SingleFlight::new());
    let other = flight.clone();
    let key = cx.value_when(When::Clone, 9);
    cx.foe.on_again(move || other.forget(&key));
    let wait = cx.last_sender();
    let seen = Seen::of(|| flight.run(cx.value(), || 5));
    // In the map there is nothing any more.
    cx.foe.release();
    wait();
    seen
}

/// Hashes of such keys.
pub(crate) fn single_flight_hash(cx: &Cx) -> Seen {
    let flight = Arc::new(SingleFlight::new());
    let wait = cx.last_sender();
    let seen = Seen::of(|| flight.run(cx.value_when(When::Hash, 0), || 5));
    wait();
    seen
}

/// Clones of a result for all who asked.
pub(crate) fn single_flight_clone(cx: &Cx) -> Seen {
    let flight = Arc::new(SingleFlight::new());
    let other = flight.clone();
    cx.foe.on_again(move || other.forget(&1));
    let wait = cx.last_sender();
    let seen = Seen::of(|| drop(flight.run(1, || cx.value_when(When::Clone, 0))));
    wait();
    seen
}

/// `Last` drops the lock's last handle but the caller's.
pub(crate) fn guard_in_unwinding(cx: &Cx) -> Seen {
    let lock = Arc::new(Mutex::new(0));
    let other = lock.clone();
    cx.foe.on_again(move || drop(other.lock_timeout(Duration::from_micros(10))));
    cx.foe.on_last({
        let lock = lock.clone();
        move || drop(lock)
    });
    let seen = Seen::of(|| {
        let _guard = lock.lock().unwrap();
        let _value = cx.value();
    });
    _ = cx.is(Behaviour::Panics);
    seen
}
