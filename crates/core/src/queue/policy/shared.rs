//! One queue for all workers, first in, first out (Boost.Fiber's `shared_work`).

use super::claim_list::ClaimList;
use super::locked::{EMPTY, LockedQueue, Ranked};
use super::{Arrival, PolicyQueues};
use crate::record::header::Header;
use crate::record::task::{Runnable, Unstarted};

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

    pub(super) fn put(&self, task: Runnable, arrival: Arrival) {
        let claimable = !task.is_future();
        self.0.with(|claim_list| claim_list.put(task, arrival == Arrival::Next, claimable));
    }

    pub(super) fn take_oldest(&self) -> Option<Runnable> {
        if self.0.is_empty() { None } else { self.0.with(ClaimList::take_oldest) }
    }

    pub(super) fn claim(&self, task: &Header) -> Option<Unstarted> {
        self.0.with(|claim_list| claim_list.claim(task))
    }

    /// The newest, if it is one of ours.
    pub(super) fn take_ours(&self, ours: &dyn Fn(&Header) -> bool) -> Option<Runnable> {
        if self.0.is_empty() {
            return None;
        }
        self.0.with(|claim_list| match claim_list.newest() {
            Some(at) if claim_list.task(at).is_some_and(ours) => claim_list.take(at),
            _ => None,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.with(|claim_list| claim_list.len())
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
    fn put(&self, _worker: Option<usize>, task: Runnable, arrival: Arrival) -> Option<usize> {
        self.0.put(task, arrival);
        None
    }

    fn take(&self, _worker: usize, _look: Option<u32>) -> Option<Runnable> {
        self.0.take_oldest()
    }

    fn claim(&self, task: &Header) -> Option<Unstarted> {
        super::claim_list::queue_of(task).and_then(|_| self.0.claim(task))
    }

    fn take_ours(&self, _worker: usize, ours: &dyn Fn(&Header) -> bool) -> Option<Runnable> {
        self.0.take_ours(ours)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
