//! Futures with a priority: each time that they are woken they go into the lane of their class
//! ([`crate::sched::priority`]).
//!
//! The class is in the type of the record's functions, and in the waker's table: so others need not
//! be asked for theirs.

use super::future::Queued;
use crate::record::header::Header;
use crate::record::task::Runnable;
use crate::sched::priority::Lane;
use crate::sched::waker;
use std::task::Waker;

/// Of futures of [`Priority::Interactive`](crate::sched::priority::Priority).
pub(super) struct Interactive;
/// Of futures of [`Priority::Background`](crate::sched::priority::Priority).
pub(super) struct Background;

impl Queued for Interactive {
    unsafe fn waker(task: *mut Header) -> Waker {
        // SAFETY: `task` is a live future (the trait's contract).
        unsafe { waker::waker_into(task, Lane::Urgent) }
    }
    unsafe fn again(task: *mut Header) {
        // SAFETY: `task` is a live future in no queue, and ours to queue (the trait's contract).
        waker::queue_into(unsafe { Runnable::from_raw(task) }, Lane::Urgent);
    }
}

impl Queued for Background {
    unsafe fn waker(task: *mut Header) -> Waker {
        // SAFETY: `task` is a live future (the trait's contract).
        unsafe { waker::waker_into(task, Lane::Deferred) }
    }
    unsafe fn again(task: *mut Header) {
        // SAFETY: `task` is a live future in no queue, and ours to queue (the trait's contract).
        waker::queue_into(unsafe { Runnable::from_raw(task) }, Lane::Deferred);
    }
}
