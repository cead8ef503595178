//! A closure or future that may become a task: who spawns it need not ask where it comes from.
//!
//! A task runs on any thread, and its record outlives the call that spawns it. So its closure, and
//! its result, must be `Send` and borrow nothing; or somebody has to wait for the task, as a scope
//! does, which no type says. Both are said once, where a [`Portable`] is made.
//!
//! **Invariant.** While a `Portable` exists, what it holds and what that returns may be used on any
//! thread, and what the two borrow outlives the task that it becomes.
//!
//! **Rejected.** Bounds of `Send + 'static` at each function of the engine that spawns: a scope's
//! closures have a lifetime.

use std::future::Future;
use std::mem::ManuallyDrop;

/// See the module's header. (Not dropped on the way, see [`spawn_into`](super::spawn::spawn_into):
/// one that is given up in silence leaks.)
#[repr(transparent)]
#[must_use = "what is not spawned leaks"]
pub(crate) struct Portable<F>(ManuallyDrop<F>);

impl<F> Portable<F> {
    /// A closure that borrows nothing.
    #[inline(always)]
    pub(crate) fn closure<T>(f: F) -> Portable<F>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        Portable(ManuallyDrop::new(f))
    }

    /// A future that borrows nothing.
    #[inline(always)]
    pub(crate) fn future(future: F) -> Portable<F>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Portable(ManuallyDrop::new(future))
    }

    /// A closure that may borrow.
    ///
    /// # Safety
    /// What `f` and its result borrow outlives the task that it becomes.
    #[inline(always)]
    pub(crate) unsafe fn borrowing<T>(f: F) -> Portable<F>
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        Portable(ManuallyDrop::new(f))
    }

    /// For the record of the task.
    #[inline(always)]
    pub(super) fn into_inner(self) -> ManuallyDrop<F> {
        self.0
    }
}
