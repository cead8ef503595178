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
    /// Under the lock of the wheel; the timer was taken out of it just now.
    pub(crate) unsafe fn fire(this: *const SleepState) -> Option<StoredWaker> {
        // SAFETY: the caller.
        unsafe {
            (*this).fired.set(true);
            Self::abandon(this)
        }
    }

    /// The timer was taken out of a wheel that fires nothing any more: takes the waker out.
    ///
    /// # Safety
    /// As for `fire`.
    pub(crate) unsafe fn abandon(this: *const SleepState) -> Option<StoredWaker> {
        // SAFETY: the caller.
        unsafe { (*(*this).waker.get()).take() }
    }
}
