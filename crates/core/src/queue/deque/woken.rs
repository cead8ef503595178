//! Woken futures at the newest end: which of them the owner runs next.
//!
//! ```text
//!   head ... unstarted ... | tombstones | from: woken, woken, woken | to: top, or one above
//! ```
//! The *run* is what [`OwnDeque::push_woken`] has queued one after the other. A task that wakes one
//! future is followed by that one: the two work on the same data. Else the oldest of the run is
//! next. So where a task sends to many, each of them finds what all others have sent it meanwhile,
//! too; were the newest next, each would be polled for a single message (0.41 polls of a message
//! where 64 futures send to each other, and 0.03 in this way).
//!
//! What is spawned is queued above the run, and begun first: depth first, as ever.
//!
//! **Out of the middle.** The owner takes a place of the run by a swap, as a thief does under the
//! lock: who gets the task has it (I1). The owner looks at `split` before: what is public is left
//! to the thieves. (Raised just after that look, `split` does no harm: the place is in use, and
//! only the owner uses one again.) The tombstones go when the ring is full (`ring.rs`).
//!
//! **All of it is a guess**, about the order alone: any task of the private part may be taken. The
//! run is believed as long as it ends at `top`, or one place above, where a task of it was the
//! newest and is gone. So a spawned task may be in it, where two were spawned in that place, and
//! one of them begun. Where `top` has been below meanwhile, others may stand in the place of the
//! run: when a task is taken that is no woken future, the run is forgotten. "Wakes one" is told by
//! `top` since the last pop, which does not know of turns that popped nothing here.
//!
//! **Rejected.** A ring of their own, first in, first out, as ready closures have: nobody could
//! steal from it. The oldest next after each turn: two that talk would go on behind all others,
//! when their data has left the cache.

use super::{OwnDeque, OwnerHalf};
use crate::record::state;
use crate::record::task::Runnable;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::mutant::on;
use std::cell::Cell;
use std::ptr::null_mut;

/// See the module's header. The owner's alone.
#[derive(Debug)]
pub(super) struct Run {
    /// Its oldest task, or a tombstone below that.
    from: Cell<usize>,
    to: Cell<usize>,
    /// `top` when the last task was popped.
    at_pop: Cell<usize>,
}

impl Run {
    pub(super) fn new() -> Run {
        Run { from: Cell::new(0), to: Cell::new(0), at_pop: Cell::new(0) }
    }

    #[inline(always)]
    fn ends_at(to: usize, top: usize) -> bool {
        to.wrapping_sub(top) <= 1
    }

    /// A woken future comes to this place, which is `top`.
    #[inline(always)]
    pub(super) fn add(&self, top: usize) {
        if !Run::ends_at(self.to.replace(top + 1), top) {
            self.from.set(top);
        }
    }

    /// Is the oldest of the run next?
    #[inline(always)]
    pub(super) fn is_next(&self, top: usize) -> bool {
        // (First what says no where two talk.)
        self.at_pop.get().wrapping_add(1) != top && Run::ends_at(self.to.get(), top) && self.from.get() + 1 < top
    }

    /// A task was popped, and this is `top` now.
    #[inline(always)]
    pub(super) fn popped(&self, top: usize) {
        self.at_pop.set(top);
    }

    /// Where it begins.
    pub(super) fn from(&self) -> usize {
        self.from.get()
    }

    /// All tasks have moved down: `top` was `before`, and where the run began is `from` now.
    pub(super) fn moved(&self, before: usize, top: usize, from: Option<usize>) {
        let is_there = Run::ends_at(self.to.get(), before);
        self.to.set(if is_there { top } else { 0 });
        self.from.set(from.unwrap_or(top));
        self.at_pop.set(self.at_pop.get().wrapping_add(top).wrapping_sub(before));
    }
}

impl OwnerHalf {
    #[inline(always)]
    pub(super) fn run(&self) -> &Run {
        &self.run
    }
}

impl OwnDeque<'_> {
    /// Takes the oldest of the run. `None`: it is one task by now, or none.
    #[inline(never)]
    pub(super) fn pop_woken(self, top: usize) -> Option<Runnable> {
        let run = self.half().run();
        let mut place = run.from.get().max(self.split.load(Relaxed));
        while place + 1 < top {
            let slot = self.slot(place);
            let task = if on("woken-load-store") {
                let task = slot.load(Relaxed);
                slot.store(null_mut(), Relaxed);
                task
            } else {
                // A swap: a thief swaps, too. Relaxed: what the owner has queued it has seen.
                slot.swap(null_mut(), Relaxed)
            };
            place += 1;
            // SAFETY: the place was private, so it is one that the owner has filled; the swap has
            // taken the task out of the deque, for the owner alone. Null is a tombstone.
            let Some(task) = (unsafe { Runnable::from_slot(task) }) else { continue };
            run.from.set(place);
            run.popped(top);
            self.half().set_tombstones(true);
            if !task.is_future() || state::is_new(task.header().state()) {
                run.to.set(0);
            }
            return Some(task);
        }
        run.from.set(place);
        None
    }
}

#[cfg(all(test, not(loom)))]
mod test;
