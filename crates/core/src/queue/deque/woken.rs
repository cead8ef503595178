//! Woken futures at the newest end: which of them the owner runs next.
//!
//! ```text
//!   head ... unstarted ... | start: tombstones | from: woken, woken, woken | to: top
//! ```
//! The *run* is what [`OwnDeque::push_woken`] has queued one after the other, with nothing else in
//! between. A turn that has woken one future is followed by that one: the two work on the same
//! data. After any other turn the oldest of the run is next. So where a task sends to many, each of
//! them finds what all others have sent it meanwhile, too; were the newest next, each would be
//! polled for a single message (0.41 polls of a message where 64 futures send to each other, and
//! 0.03 in this way).
//!
//! Spawned tasks are above the run, and are begun first, the newest first: depth first, as ever.
//!
//! **Out of the middle.** The owner takes a place of the run by a swap, as a thief does under the
//! lock: who gets the task has it (I1). The owner looks at `split` before: what is public is left
//! to the thieves. (Raised just after that look, `split` does no harm: the place is in use, and
//! only the owner uses one again.)
//!
//! **The run moves down** when there are more tombstones below it than tasks in it: under the lock,
//! so that no thief looks at a place meanwhile. Woken futures do not know their place, so nobody
//! misses them. (Else two tasks that are never both done would use up the ring.)
//!
//! **`to` is a guess.** The run is believed as long as `to` is `top`, or the place above, where a
//! task of it was the newest and is gone. Tasks that came and went above leave the run as it was.
//! If `top` has been below meanwhile, others may stand in the place of the run: then the first one
//! that is taken is no woken future, and the run is forgotten.
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

/// So many tombstones are left below the run, at least, before it moves.
const GAP: usize = if cfg!(loom) { 2 } else { 64 };

/// See the module's header. The owner's alone.
#[derive(Debug)]
pub(super) struct Run {
    /// Where it was when it last moved, or began: a hint.
    start: Cell<usize>,
    /// Its oldest task, or a tombstone below that.
    from: Cell<usize>,
    to: Cell<usize>,
    /// `top` when the last task was popped.
    at_pop: Cell<usize>,
}

impl Run {
    pub(super) fn new() -> Run {
        Run { start: Cell::new(0), from: Cell::new(0), to: Cell::new(0), at_pop: Cell::new(0) }
    }

    /// Does the run end at `top`, or just above, where the last task of it was popped?
    #[inline(always)]
    fn ends_at(to: usize, top: usize) -> bool {
        to.wrapping_sub(top) <= 1
    }

    /// A woken future comes to this place, which is `top`.
    #[inline(always)]
    pub(super) fn add(&self, top: usize) {
        if !Run::ends_at(self.to.replace(top + 1), top) {
            self.start.set(top);
            self.from.set(top);
        }
    }

    /// Is the oldest of the run next?
    #[inline(always)]
    pub(super) fn is_next(&self, top: usize) -> bool {
        // (First what says no where two talk.)
        self.at_pop.get() + 1 != top && Run::ends_at(self.to.get(), top) && self.from.get() + 1 < top
    }

    /// A task was popped, and this is `top` now.
    #[inline(always)]
    pub(super) fn popped(&self, top: usize) {
        self.at_pop.set(top);
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
            } else if place - run.start.get() >= GAP.max(top - place) {
                self.move_run_down(top);
            }
            return Some(task);
        }
        run.from.set(place);
        None
    }

    /// The run moves over the tombstones below it.
    #[cold]
    #[inline(never)]
    fn move_run_down(self, top: usize) {
        let run = self.half().run();
        let guard = if on("run-moves-unlocked") { None } else { Some(self.lock()) };
        // What is public stays where it is.
        let split = self.split.load(Relaxed);
        let from = run.from.get().max(split);
        let mut low = from;
        while low > split && self.slot(low - 1).load(Relaxed).is_null() {
            low -= 1;
        }
        for place in from..top {
            let task = self.slot(place).load(Relaxed);
            self.slot(low + (place - from)).store(task, Relaxed);
        }
        let top = low + (top - from);
        self.set_top(top, "claim-top-release");
        drop(guard);
        run.start.set(low);
        run.from.set(low);
        run.to.set(top);
        run.popped(top);
    }
}

#[cfg(all(test, not(loom)))]
mod test;
