//! How many nodes a node of a graph waits for, in each run anew.
//!
//! The counts stand apart from the nodes, in a row of their own. For a node is counted down several
//! times before its turn comes, at places all over the row; and so eight counts fill a cache line.

use myriad_base::sys::atomic::{AtomicU32, Ordering::*};
use myriad_base::sys::mutant::ord;

/// See the module's header.
#[derive(Debug)]
pub struct Count {
    /// How many nodes it comes after; of a start 1, which the run's begin counts down.
    all: u32,
    /// How many of these have not ended in this run; all again, when the last has. It stays as it
    /// is where there is one. The start by a choice changes nothing in it.
    pending: AtomicU32,
}

impl Count {
    /// Of a node that comes after so many.
    pub fn new(predecessors: u32) -> Self {
        let all = predecessors.max(1);
        Count { all, pending: AtomicU32::new(all) }
    }

    /// As at the beginning.
    #[inline]
    pub fn reset(&self) {
        // Relaxed: the end of the run is the order, or nobody else counts it in this run.
        self.pending.store(self.all, Relaxed);
    }

    /// One in front of the node has ended: the last? Then the count is as at the beginning again.
    /// `again`: a choice may start one in front of it again at any time.
    #[inline(always)]
    pub fn is_last(&self, again: bool) -> bool {
        if again {
            return self.all <= 1 || self.is_last_in_one_step();
        }
        // Acquire, AcqRel: what all its predecessors did comes before the node; partner: the same
        // count, by the others. Where it is 1, all others have counted, or there is no other: so
        // the last one needs no read-modify-write.
        let is_last = self.pending.load(ord(Acquire, "count-last")) == 1
            || self.pending.fetch_sub(1, ord(AcqRel, "count-ended")) == 1;
        if is_last {
            self.reset();
        }
        is_last
    }

    fn is_last_in_one_step(&self) -> bool {
        let mut pending = self.pending.load(Relaxed);
        loop {
            let next = if pending == 1 { self.all } else { pending - 1 };
            // AcqRel: as above.
            match self.pending.compare_exchange_weak(pending, next, ord(AcqRel, "count-in-one-step"), Relaxed) {
                Ok(_) => return pending == 1,
                Err(now) => pending = now,
            }
        }
    }
}
