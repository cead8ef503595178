//! `RwLock`: Myriad's without its poison, which tokio's has not.

use super::TryLockError;
use myriad::sync as on;
use std::sync::PoisonError;

pub use on::{RwLockReadGuard, RwLockWriteGuard};

/// A lock for one writer, or for readers.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized>(on::RwLock<T>);

impl<T> RwLock<T> {
    /// Not locked.
    pub fn new(value: T) -> RwLock<T> {
        RwLock(on::RwLock::new(value))
    }
    /// The value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tried<G>(result: on::TryLockResult<G>) -> Result<G, TryLockError> {
    match result {
        Ok(guard) => Ok(guard),
        Err(on::TryLockError::Poisoned(error)) => Ok(error.into_inner()),
        Err(on::TryLockError::WouldBlock) => Err(TryLockError::locked()),
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits, to read.
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read_async().await.unwrap_or_else(PoisonError::into_inner)
    }
    /// Waits, to write.
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write_async().await.unwrap_or_else(PoisonError::into_inner)
    }
    /// To read, if that is possible now.
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        tried(self.0.try_read())
    }
    /// To write, if that is possible now.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        tried(self.0.try_write())
    }
}
