//! Whether the futures that tasks wake are for all workers, or gathered on one.
//!
//! Where futures exchange messages, a second worker may cost more than it does: each message moves
//! the lines of its channel from one processor to the other, and a turn is shorter than that. Of 64
//! futures that all send to each other one worker takes 20 ns for a message, and two take 60. Where
//! there is enough to do between messages, two workers take half the time. Nobody can tell which it
//! is but by trying: `gather/controller.rs` does, as long as several workers run futures whose
//! turns are short. What workers do about it stands in `run_loop/gather.rs`.

mod controller;

use controller::Controller;
pub(crate) use controller::Totals;
use myriad_base::sys::choice::ticks_per_us;
use myriad_base::sys::mutex::Mutex;
// Std's: hints for workers, no part of a protocol.
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A pool's.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    /// One more than the number of the worker that has them; 0: none.
    at: AtomicU32,
    /// That is no trial.
    lasts: AtomicBool,
    /// Another worker has published tasks for that one.
    offered: AtomicBool,
    /// When the controller looks next, in ticks.
    next: AtomicU64,
    controller: Mutex<Controller>,
}

impl Gather {
    /// The worker at which futures are gathered.
    #[inline]
    pub(crate) fn worker(&self) -> Option<usize> {
        (self.at.load(Relaxed) as usize).checked_sub(1)
    }

    /// Are they gathered for longer than a trial?
    pub(crate) fn lasts(&self) -> bool {
        self.lasts.load(Relaxed)
    }

    /// Tells the worker at which they are gathered that there is something to take.
    pub(crate) fn offer(&self) {
        if !self.offered.load(Relaxed) {
            self.offered.store(true, Relaxed);
        }
    }

    /// Has anybody something to take? By that worker, which looks at all others then.
    pub(crate) fn take_offer(&self) -> bool {
        self.offered.load(Relaxed) && self.offered.swap(false, Relaxed)
    }

    /// Is it time to look, at this time in ticks?
    #[inline]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now >= self.next.load(Relaxed)
    }

    /// Looks at what each worker has done.
    #[cold]
    pub(crate) fn look(&self, now: u64, totals: impl Iterator<Item = Totals>) {
        // (Else another worker is at it.)
        let Some(mut controller) = self.controller.try_lock() else { return };
        let us = ticks_per_us();
        let next = controller.look(now / us, self.at.load(Relaxed), totals.collect());
        self.at.store(controller.at(), Relaxed);
        self.lasts.store(controller.is_gathered(), Relaxed);
        self.next.store(next * us, Relaxed);
    }

    /// The worker at which they are gathered does not come by: they are spread, until the
    /// controller looks again.
    pub(crate) fn give_up(&self, worker: usize) {
        // Relaxed, and an exchange: they may be gathered elsewhere by now.
        _ = self.at.compare_exchange(worker as u32 + 1, 0, Relaxed, Relaxed);
    }

    /// Another runtime begins: nothing is known of it.
    pub(crate) fn restart(&self) {
        *self.controller.lock() = Controller::default();
        self.at.store(0, Relaxed);
        self.lasts.store(false, Relaxed);
        self.offered.store(false, Relaxed);
        self.next.store(0, Relaxed);
    }

    /// From now on they are gathered there, or spread, and the controller has no say.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn force(&self, worker: Option<usize>) {
        self.next.store(u64::MAX, Relaxed);
        self.lasts.store(true, Relaxed);
        self.at.store(worker.map_or(0, |worker| worker as u32 + 1), Relaxed);
    }
}
