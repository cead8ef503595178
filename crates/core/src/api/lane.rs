//! Futures with a priority: each time that they are woken they go into the lane of their class
//! ([`crate::sched::priority`]).
//!
//! The class is in the type of the record's functions, and in the waker's table: so others need not
//! be asked for theirs.

use super::future::Queued;
use crate::record::header::Header;
use crate::record::state;
use crate::record::task::Runnable;
use crate::sched::pool::{Origin, Pool};
use crate::sched::priority::Lane;
use crate::sched::waker;
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::task::{RawWaker, RawWakerVTable, Waker};

/// Of futures of [`Priority::Interactive`](crate::sched::priority::Priority).
pub(super) struct Interactive;
/// Of futures of [`Priority::Background`](crate::sched::priority::Priority).
pub(super) struct Background;

static URGENT: RawWakerVTable = RawWakerVTable::new(
    |word| RawWaker::new(word, &URGENT),
    // SAFETY: the data of this table's wakers is a packed word.
    |word| unsafe { wake(word, Lane::Urgent) },
    // SAFETY: the data of this table's wakers is a packed word.
    |word| unsafe { wake(word, Lane::Urgent) },
    |_| (),
);

static DEFERRED: RawWakerVTable = RawWakerVTable::new(
    |word| RawWaker::new(word, &DEFERRED),
    // SAFETY: the data of this table's wakers is a packed word.
    |word| unsafe { wake(word, Lane::Deferred) },
    // SAFETY: the data of this table's wakers is a packed word.
    |word| unsafe { wake(word, Lane::Deferred) },
    |_| (),
);

/// # Safety
/// `word` was made by `pack`.
unsafe fn wake(word: *const (), lane: Lane) {
    let (record, generation) = waker::unpack(word);
    // SAFETY: record memory is never unmapped, and `state` is always an atomic word there.
    if state::wake(unsafe { &(*record).state }, generation) {
        // SAFETY: the wake made the task ours to queue.
        queue(unsafe { Runnable::from_raw(record) }, lane);
    }
}

fn queue(task: Runnable, lane: Lane) {
    Pool::of_task(&task).inject_into(Some(lane), task, Origin::Wake);
}

/// # Safety
/// `record` is a live future.
unsafe fn waker_with(record: *mut Header, table: &'static RawWakerVTable) -> Waker {
    // SAFETY: `record` is live (this function's contract), and `state` is atomic.
    let generation = state::generation(unsafe { (*record).state.load(Relaxed) });
    // SAFETY: the tables' functions keep the contract of `RawWaker`: thread-safe, nothing to free.
    unsafe { Waker::from_raw(RawWaker::new(waker::pack(record, generation), table)) }
}

impl Queued for Interactive {
    unsafe fn waker(task: *mut Header) -> Waker {
        // SAFETY: `task` is a live future (the trait's contract).
        unsafe { waker_with(task, &URGENT) }
    }
    unsafe fn again(task: *mut Header) {
        // SAFETY: `task` is a live future in no queue, and ours to queue (the trait's contract).
        queue(unsafe { Runnable::from_raw(task) }, Lane::Urgent);
    }
}

impl Queued for Background {
    unsafe fn waker(task: *mut Header) -> Waker {
        // SAFETY: `task` is a live future (the trait's contract).
        unsafe { waker_with(task, &DEFERRED) }
    }
    unsafe fn again(task: *mut Header) {
        // SAFETY: `task` is a live future in no queue, and ours to queue (the trait's contract).
        queue(unsafe { Runnable::from_raw(task) }, Lane::Deferred);
    }
}
