//! Futures with a priority: each time that they are woken they go into the queue of their class
//! ([`crate::sched::priority`]).
//!
//! The class is in the type of the record's functions, and in the waker's table: so others need not
//! be asked for theirs.

use super::future::Queued;
use crate::record::task::{HeapRecord, Runnable};
use crate::sched::priority::PriorityQueue;
use crate::sched::waker;
use std::task::Waker;

/// Of futures of [`Priority::Interactive`](crate::sched::priority::Priority).
pub(super) struct Interactive;
/// Of futures of [`Priority::Background`](crate::sched::priority::Priority).
pub(super) struct Background;

impl Queued for Interactive {
    fn waker(task: HeapRecord) -> Waker {
        waker::waker_into(task, PriorityQueue::Interactive)
    }
    fn again(task: Runnable) {
        waker::queue_into(task, PriorityQueue::Interactive);
    }
}

impl Queued for Background {
    fn waker(task: HeapRecord) -> Waker {
        waker::waker_into(task, PriorityQueue::Background)
    }
    fn again(task: Runnable) {
        waker::queue_into(task, PriorityQueue::Background);
    }
}
