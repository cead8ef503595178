//! std's mutex and condition variable without poison, for what a thread has for a moment.
//!
//! What is kept under such a lock is in order wherever its holder may panic: a change is made at
//! once or not at all. So a panic of a holder says nothing about the value, and whoever locks next
//! would only ignore it. For a value that a panic may leave half changed, std's lock is right, or
//! that of `sync`.
//!
//! Who waits here waits in the system, with the worker that it is: for short sections, and not for
//! signal handlers. In a model it is std's too: what it protects there is no part of the protocol.
//! Waits with a time limit are in [`clock`](super::clock), the seam of time.

use std::fmt;
use std::sync::{self, PoisonError};

/// A value that one thread has at a time.
#[derive(Default)]
pub struct Mutex<T>(sync::Mutex<T>);

/// The lock is held until this is dropped.
pub type MutexGuard<'a, T> = sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    /// An open lock with this value.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(sync::Mutex::new(value))
    }
    /// Takes the lock. The thread waits while another one has it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Takes the lock if it is free.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(sync::TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(sync::TryLockError::WouldBlock) => None,
        }
    }
    /// The value, of which this is the only reference.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
    /// The value.
    #[inline]
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Threads wait here for a change of what a [`Mutex`] protects.
#[derive(Debug, Default)]
pub struct Condvar(pub(super) sync::Condvar);

impl Condvar {
    /// One at which nobody waits.
    pub const fn new() -> Condvar {
        Condvar(sync::Condvar::new())
    }
    /// Gives the lock back, waits until notified, or for no reason, and takes the lock again.
    #[inline]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
    /// Waits as long as `is_early` holds of what is under the lock.
    #[inline]
    pub fn wait_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        is_early: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        self.0.wait_while(guard, is_early).unwrap_or_else(PoisonError::into_inner)
    }
    /// One of those who wait goes on.
    #[inline]
    pub fn notify_one(&self) {
        self.0.notify_one();
    }
    /// All who wait go on.
    #[inline]
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::{Condvar, Mutex};
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn a_panic_of_a_holder_is_no_matter_of_the_next() {
        let (mut mutex, changed) = (Mutex::new(1), Condvar::new());
        let panics = |f: &mut dyn FnMut()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
        panics(&mut || {
            *mutex.lock() = 2;
            std::panic::resume_unwind(Box::new(()));
        });
        let held = mutex.lock();
        assert_eq!(*held, 2);
        assert!(mutex.try_lock().is_none(), "it is held");
        drop(held);
        assert_eq!(mutex.try_lock().as_deref(), Some(&2));
        assert_eq!(*changed.wait_while(mutex.lock(), |value| *value != 2), 2);
        std::thread::scope(|s| {
            let mut held = mutex.lock();
            s.spawn(|| {
                panics(&mut || {
                    let mut held = mutex.lock();
                    *held = 3;
                    changed.notify_all();
                    std::panic::resume_unwind(Box::new(()));
                });
            });
            while *held != 3 {
                held = changed.wait(held);
            }
        });
        assert_eq!(*mutex.get_mut(), 3);
        assert_eq!(mutex.into_inner(), 3);
    }
}
