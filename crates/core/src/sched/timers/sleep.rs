//! What the timer of a sleeping future points to.

use crate::sched::user_code::StoredWaker;
use myriad_base::wheel::TimerNode;
use std::cell::{Cell, UnsafeCell};

/// What the timer points to. Under the lock of the owner's wheel once it is set.
#[derive(Debug)]
pub(crate) struct SleepState {
    pub(crate) timer: UnsafeCell<TimerNode>,
    pub(crate) waker: UnsafeCell<Option<StoredWaker>>,
    pub(crate) fired: Cell<bool>,
}

impl SleepState {
    /// The timer has fired: takes the waker out.
    ///
    /// # Safety
    /// The lock of the wheel is held, and the timer was taken out of that wheel just now: so the
    /// owner, which removes it under that lock before it leaves, is still there.
    pub(crate) unsafe fn fire(this: *const SleepState) -> Option<StoredWaker> {
        // SAFETY: the state is alive, because its owner takes the wheel's lock before it leaves,
        // and the lock makes `fired` and `waker` the caller's (this function's contract).
        unsafe {
            (*this).fired.set(true);
            Self::abandon(this)
        }
    }

    /// The timer was taken out of a wheel that fires nothing any more: takes the waker out.
    ///
    /// # Safety
    /// The conditions of [`fire`](Self::fire): the lock of the wheel is held, and the timer was
    /// taken out of that wheel just now.
    pub(crate) unsafe fn abandon(this: *const SleepState) -> Option<StoredWaker> {
        // SAFETY: the state is alive, because its owner takes the wheel's lock before it leaves,
        // and the lock makes `waker` the caller's (this function's contract).
        unsafe { (*(*this).waker.get()).take() }
    }
}
