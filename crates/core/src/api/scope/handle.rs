//! The handle of a scope's task.

use super::panics::{Kept, keep_first};
use crate::api::JoinError;
use crate::api::handle::JoinHandle;
use crate::sched::unwind;
use myriad_base::sys::mutex::Mutex;
use std::fmt;
use std::mem::ManuallyDrop;

/// The right to the result of a task of a scope. Dropping it leaves the task to the scope's end.
///
/// # Examples
/// ```
/// let numbers = vec![1, 2, 3];
/// let sum = myriad::scope(|s| s.spawn(|| numbers.iter().sum::<u32>()).join().unwrap());
/// assert_eq!(sum, 6);
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    /// Dropped by our own destructor, so that most often nothing is left for a call.
    pub(super) handle: ManuallyDrop<JoinHandle<T>>,
    /// Of the scope: where the panic goes if the handle is dropped when the task has panicked
    /// already.
    pub(super) panic: &'scope Mutex<Kept>,
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.show("ScopedJoinHandle", f)
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As [`JoinHandle::join`].
    ///
    /// # Errors
    /// As [`JoinHandle::join`].
    #[inline]
    pub fn join(mut self) -> Result<T, JoinError> {
        self.handle.take().join()
    }
    /// As [`JoinHandle::cancel`].
    pub fn cancel(&self) {
        self.handle.cancel();
    }
    /// Has the task ended?
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(payload) = self.handle.take().give_up().and_then(|payload| keep_first(self.panic, payload)) {
            unwind::discard(payload);
        }
    }
}
