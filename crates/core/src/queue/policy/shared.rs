//! One queue for all workers, first in, first out (Boost.Fiber's `shared_work`).

use super::claim_list::ClaimList;
use super::locked::{EMPTY, LockedQueue, Ranked};
use super::{Arrival, PolicyQueues};
use crate::record::header::{Header, Kind};
use std::ptr::null_mut;

/// A queue in order of arrival.
#[derive(Debug)]
pub(super) struct Fifo(LockedQueue<ClaimList>);

impl Ranked for ClaimList {
    fn first(&self) -> u64 {
        if self.len() == 0 { EMPTY } else { 0 }
    }
}

impl Fifo {
    pub(super) fn new(number: usize) -> Fifo {
        Fifo(LockedQueue::new(ClaimList::new(number)))
    }

    /// # Safety
    /// `task` is a live record in no queue, and the caller's to queue.
    pub(super) unsafe fn put(&self, task: *mut Header, arrival: Arrival) {
        // SAFETY: `task` is live (this function's contract), and its `kind` does not change
        // meanwhile.
        let claimable = unsafe { !(*task).kind.has(Kind::FUTURE) };
        // SAFETY: `task` is live and in no queue (this function's contract).
        self.0.with(|claim_list| unsafe { claim_list.put(task, arrival == Arrival::Next, claimable) });
    }

    pub(super) fn take_oldest(&self) -> *mut Header {
        if self.0.is_empty() { null_mut() } else { self.0.with(ClaimList::take_oldest) }
    }

    pub(super) fn claim(&self, task: &Header) -> bool {
        self.0.with(|claim_list| claim_list.find(task).map(|at| claim_list.take(at))).is_some()
    }

    /// The newest, if it is one of ours.
    pub(super) fn take_ours(&self, ours: &dyn Fn(*mut Header) -> bool) -> *mut Header {
        if self.0.is_empty() {
            return null_mut();
        }
        self.0.with(|claim_list| match claim_list.newest() {
            Some(at) if ours(claim_list.task(at)) => claim_list.take(at),
            _ => null_mut(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// See the module's header.
#[derive(Debug)]
pub(super) struct SharedQueue(Fifo);

impl SharedQueue {
    pub(super) fn new() -> SharedQueue {
        SharedQueue(Fifo::new(0))
    }
}

impl PolicyQueues for SharedQueue {
    unsafe fn put(&self, _worker: Option<usize>, task: *mut Header, arrival: Arrival) -> Option<usize> {
        // SAFETY: `task` is live and in no queue (the trait's contract).
        unsafe { self.0.put(task, arrival) };
        None
    }

    fn take(&self, _worker: usize, _look: Option<u32>) -> *mut Header {
        self.0.take_oldest()
    }

    fn claim(&self, task: &Header) -> bool {
        super::claim_list::queue_of(task).is_some() && self.0.claim(task)
    }

    fn take_ours(&self, _worker: usize, ours: &dyn Fn(*mut Header) -> bool) -> *mut Header {
        self.0.take_ours(ours)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
