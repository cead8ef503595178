//! A queue for each worker; new tasks are dealt to them in turn.
//!
//! A woken future stays with the worker that wakes it, behind all others; so does one that wakes
//! itself. A worker without tasks of its own takes the oldest of the next one that has some: else a
//! worker that is stuck would hold up what it was dealt.

use super::shared::Fifo;
use super::{Arrival, PolicyQueues};
use crate::record::header::Header;
use myriad_base::sys::atomic::{AtomicUsize, Ordering::Relaxed};
use std::ptr::null_mut;

/// See the module's header.
#[derive(Debug)]
pub(super) struct RoundRobin {
    hands: Box<[Fifo]>,
    /// Who gets the next one.
    next: AtomicUsize,
}

impl RoundRobin {
    pub(super) fn new(workers: usize) -> RoundRobin {
        RoundRobin { hands: (0..workers).map(Fifo::new).collect(), next: AtomicUsize::new(0) }
    }

    /// The hands, beginning with this worker's; a spare has none of its own.
    fn from(&self, worker: usize) -> impl Iterator<Item = &Fifo> {
        let (before, after) = self.hands.split_at(worker % self.hands.len());
        after.iter().chain(before)
    }
}

impl PolicyQueues for RoundRobin {
    unsafe fn put(&self, worker: Option<usize>, task: *mut Header, arrival: Arrival) -> Option<usize> {
        let own = worker.filter(|&worker| worker < self.hands.len());
        let to = match (arrival, own) {
            (Arrival::Woken | Arrival::Next | Arrival::Last, Some(own)) => own,
            // Relaxed: only a number.
            _ => self.next.fetch_add(1, Relaxed) % self.hands.len(),
        };
        // SAFETY: `task` is live and in no queue (the trait's contract).
        unsafe { self.hands[to].put(task, arrival) };
        Some(to)
    }

    fn take(&self, worker: usize, _look: Option<u32>) -> *mut Header {
        self.from(worker).map(Fifo::take_oldest).find(|task| !task.is_null()).unwrap_or(null_mut())
    }

    fn claim(&self, task: &Header) -> bool {
        super::claim_list::queue_of(task).and_then(|queue| self.hands.get(queue)).is_some_and(|hand| hand.claim(task))
    }

    fn take_ours(&self, worker: usize, ours: &dyn Fn(*mut Header) -> bool) -> *mut Header {
        self.from(worker).map(|hand| hand.take_ours(ours)).find(|task| !task.is_null()).unwrap_or(null_mut())
    }

    fn is_empty(&self) -> bool {
        self.hands.iter().all(Fifo::is_empty)
    }
}
