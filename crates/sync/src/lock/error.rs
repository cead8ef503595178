//! Why an operation with a time limit was not done.

use std::fmt;
use std::sync::PoisonError;

/// The time has passed, and nothing was changed: at some moment since then it was not possible.
///
/// # Examples
/// ```
/// use myriad::sync::{Event, TimeoutError};
/// let late = Event::new().wait_timeout(std::time::Duration::from_millis(1));
/// assert_eq!(late, Err(TimeoutError));
/// ```
#[doc(alias = "Elapsed")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeoutError;

impl fmt::Display for TimeoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time for a wait has passed")
    }
}
impl std::error::Error for TimeoutError {}

/// Why a lock was not taken within its time.
///
/// # Examples
/// ```
/// use myriad::sync::{LockTimeoutError, Mutex};
/// let lock = Mutex::new(1);
/// let held = lock.lock().unwrap();
/// let late = lock.lock_timeout(std::time::Duration::from_millis(1));
/// assert!(matches!(late, Err(LockTimeoutError::Timeout)));
/// # drop(held);
/// ```
pub enum LockTimeoutError<G> {
    /// The time has passed, and at some moment since then the lock was held by others.
    Timeout,
    /// The lock was taken, and is held by the guard inside; but an earlier holder has panicked.
    Poisoned(PoisonError<G>),
}

/// A lock with a time limit.
pub(super) type TimedResult<G> = Result<G, LockTimeoutError<G>>;

impl<G> LockTimeoutError<G> {
    /// Has the time passed?
    pub fn is_timeout(&self) -> bool {
        matches!(self, LockTimeoutError::Timeout)
    }
}

impl<G> From<PoisonError<G>> for LockTimeoutError<G> {
    fn from(error: PoisonError<G>) -> Self {
        LockTimeoutError::Poisoned(error)
    }
}

impl<G> fmt::Debug for LockTimeoutError<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockTimeoutError::Timeout => "Timeout",
            LockTimeoutError::Poisoned(_) => "Poisoned(..)",
        })
    }
}
impl<G> fmt::Display for LockTimeoutError<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockTimeoutError::Timeout => "the time for taking a lock has passed",
            LockTimeoutError::Poisoned(_) => "the lock is poisoned: a task has panicked while it held it",
        })
    }
}
impl<G> std::error::Error for LockTimeoutError<G> {}
