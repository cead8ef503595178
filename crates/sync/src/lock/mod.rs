//! Locks.

mod error;
mod mutex;
mod op;
mod poison;
mod raw;

pub use error::{LockTimeoutError, TimeoutError};
pub use mutex::{LockFuture, Mutex, MutexGuard};
