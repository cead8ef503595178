//! `Mutex`: Myriad's without its poison, which tokio's has not.

use myriad::sync as on;
use std::fmt;
use std::sync::PoisonError;

pub use on::MutexGuard;

/// It is locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TryLockError(());

impl TryLockError {
    pub(super) fn locked() -> Self {
        TryLockError(())
    }
}

/// A lock.
#[derive(Default)]
pub struct Mutex<T: ?Sized>(on::Mutex<T>);

impl<T> Mutex<T> {
    /// Not locked.
    pub fn new(value: T) -> Mutex<T> {
        Mutex(on::Mutex::new(value))
    }
    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock_async().await.unwrap_or_else(PoisonError::into_inner)
    }
    /// Blocks for the lock.
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The lock, if it is free.
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        match self.0.try_lock() {
            Ok(guard) => Ok(guard),
            Err(on::TryLockError::Poisoned(error)) => Ok(error.into_inner()),
            Err(on::TryLockError::WouldBlock) => Err(TryLockError::locked()),
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.try_lock() {
            Ok(guard) => f.debug_struct("Mutex").field("data", &&*guard).finish(),
            Err(_) => f.debug_struct("Mutex").field("data", &format_args!("<locked>")).finish(),
        }
    }
}
