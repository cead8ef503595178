//! What a worker counts, for [`metrics`](crate::runtime::metrics).
//!
//! **What a count costs.** One instruction: a load and a store of a word on lines that are the
//! worker's own, no read-modify-write, for only the worker's role writes. That is an instruction
//! more in a spawn of some 130. So a fork of `join`, which has 90, is not counted, and neither is
//! the end of a task: how many tasks there are is read off the free lists of their records
//! (`record::memory`). Neither is a switch counted, of some 100 instructions: the positions of the
//! ready ring only grow, and say how many have gone on (`queue::ready`). (So nothing is counted at
//! the doors of `record::step`, which forks and all ends of tasks pass.)

// Std's, and all Relaxed: estimates for whoever reads them, no part of a protocol.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// So many more. By the one who writes it.
    #[inline(always)]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// For all.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The counters of a worker, since its pool was made. Written by the worker's role.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Tasks that its tasks have spawned, but for those of `join`.
    pub spawned: Counter,
    /// Turns in which it began a closure or polled a future.
    pub begun: Counter,
    /// Polls of futures from the loop ...
    pub polls: Counter,
    /// ... and what was left of the budget after each of them, in all: so what they have used is
    /// known too. (But for polls that have used all of it, and count as none.)
    pub budget_left: Counter,
    /// Tasks taken out of the deques of others.
    pub stolen: Counter,
    /// How often it has fallen asleep.
    pub sleeps: Counter,
}
