//! A queue for each worker; new tasks are dealt to them in turn.
//!
//! A woken future stays with the worker that wakes it, behind all others; so does one that wakes
//! itself. A worker without tasks of its own takes the oldest of the next one that has some: else a
//! worker that is stuck would hold up what it was dealt.

use super::shared::Fifo;
use super::{Arrival, PolicyQueues};
use crate::record::header::Header;
use crate::record::task::{Runnable, Unstarted};
use myriad_base::sys::atomic::{AtomicUsize, Ordering::Relaxed};

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
    fn put(&self, worker: Option<usize>, task: Runnable, arrival: Arrival) -> Option<usize> {
        let own = worker.filter(|&worker| worker < self.hands.len());
        let to = match (arrival, own) {
            (Arrival::Woken | Arrival::Next | Arrival::Last, Some(own)) => own,
            // Relaxed: only a number.
            _ => self.next.fetch_add(1, Relaxed) % self.hands.len(),
        };
        self.hands[to].put(task, arrival);
        Some(to)
    }

    fn take(&self, worker: usize, _look: Option<u32>) -> Option<Runnable> {
        self.from(worker).find_map(Fifo::take_oldest)
    }

    fn claim(&self, task: &Header) -> Option<Unstarted> {
        super::claim_list::queue_of(task).and_then(|queue| self.hands.get(queue)).and_then(|hand| hand.claim(task))
    }

    fn take_ours(&self, worker: usize, ours: &dyn Fn(&Header) -> bool) -> Option<Runnable> {
        self.from(worker).find_map(|hand| hand.take_ours(ours))
    }

    fn is_empty(&self) -> bool {
        self.hands.iter().all(Fifo::is_empty)
    }

    fn len(&self) -> usize {
        self.hands.iter().map(Fifo::len).sum()
    }
}
