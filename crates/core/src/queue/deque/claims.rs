//! The owner takes a joined task out of the middle: from the newest end, from any private place, or
//! from the public part.

use super::{OwnDeque, OwnerHalf, TOMBSTONES};
use crate::record::header::{Header, TaskFlags};
use crate::record::task::{Runnable, TaskRef, Unstarted};
use myriad_base::sys::atomic::{Ordering::*, compiler_fence};
use myriad_base::sys::mutant::on;
use std::ptr::null_mut;

impl OwnerHalf {
    pub(super) fn has_tombstones(&self) -> bool {
        self.special.get() & TOMBSTONES != 0
    }

    pub(super) fn set_tombstones(&self, yes: bool) {
        let others = self.special.get() & !TOMBSTONES;
        self.special.set(if yes { others | TOMBSTONES } else { others });
    }
}

impl OwnDeque<'_> {
    /// Takes exactly this closure, if it is in this deque and has not begun. (A task that was
    /// queued so that nobody claims it is not found:
    /// [`UNCLAIMED`](crate::record::position::UNCLAIMED).)
    #[inline(always)]
    pub(crate) fn claim(&self, task: TaskRef<'_>) -> Option<Unstarted> {
        let i = task.idx().load(Relaxed);
        let top = self.top.load(Relaxed);
        let claimed =
            if i.wrapping_add(1) == top { self.claim_newest(&task, i) } else { self.claim_older(&task, i, top) };
        // SAFETY: it was found in its slot.
        claimed.then(|| unsafe { Self::claimed(task) })
    }

    /// What a claim has taken out.
    ///
    /// # Safety
    /// The task was found in a slot, by identity, and is out of the deque now.
    #[inline(always)]
    unsafe fn claimed(task: TaskRef<'_>) -> Unstarted {
        // SAFETY: the record lives, for it is borrowed; the task was in the deque and is out of it,
        // for the caller alone (this function's contract). It is a closure's: those alone learn
        // their position ([`OwnDeque::push`]).
        unsafe { Unstarted::from_raw(task.as_ptr()) }
    }

    /// The same for a task that most often is the newest, or gone, where nothing is out of the
    /// ordinary. `None`: perhaps [`claim`](Self::claim) takes it.
    #[inline(always)]
    pub(crate) fn claim_plain(&self, task: TaskRef<'_>) -> Option<Unstarted> {
        let i = task.idx().load(Relaxed);
        // The same steps as in `claim_newest`.
        if i.wrapping_add(1) != self.top.load(Relaxed)
            || self.slot(i).load(Relaxed) != task.as_ptr()
            || self.half().special.get() != 0
        {
            return None;
        }
        self.set_top(i, "claim-top-release");
        compiler_fence(SeqCst);
        let claimed = self.split.load(Relaxed) <= i || self.conflict(i) == task.as_ptr();
        // SAFETY: it was found in its slot.
        claimed.then(|| unsafe { Self::claimed(task) })
    }

    /// If this is the newest task, and nobody else's: takes it out, lets `change` write to it, and
    /// puts it back. `None`: it is not, and `change` was not called. True: as for
    /// [`push`](Self::push).
    ///
    /// That costs two stores, where a read-modify-write on the record costs 8 ns: it waits for all
    /// stores before it, and those of a spawn have just been made.
    #[inline(always)]
    pub(crate) fn change_newest(&self, task: TaskRef<'_>, change: impl FnOnce()) -> Option<bool> {
        let (top, split) = (self.top.load(Relaxed), self.split.load(Relaxed));
        // Private, so the slot is in use, and what it holds is queued there: also a future, which
        // has been elsewhere before.
        if top <= split || self.slot(top - 1).load(Relaxed) != task.as_ptr() {
            return None;
        }
        let i = top - 1;
        self.set_top(i, "claim-top-release");
        self.light("change-light");
        if self.split.load(Relaxed) > i && self.conflict(i) != task.as_ptr() {
            return None;
        }
        change();
        // SAFETY: it was taken out of its slot, found there by identity: so it is the caller's, and
        // its record lives, for it is borrowed.
        Some(self.push_at(i, unsafe { Runnable::from_raw(task.as_ptr()) }))
    }

    #[inline(always)]
    fn claim_newest(&self, task: &Header, i: usize) -> bool {
        // The identity check on every path: the position may have been used again since the task
        // was started.
        if !std::ptr::eq(self.slot(i).load(Relaxed), task) && !on("claim-newest-unchecked") {
            return false;
        }
        if self.half().special.get() != 0 {
            return self.claim_special(task, i);
        }
        self.set_top(i, "claim-top-release");
        compiler_fence(SeqCst);
        // Above: public, or a forced steal is under way.
        self.split.load(Relaxed) <= i || std::ptr::eq(self.conflict(i), task)
    }

    /// The same with full fences, or with tombstones below. (Models come here always.)
    #[cold]
    #[inline(never)]
    fn claim_special(self, task: &Header, i: usize) -> bool {
        self.set_top(i, "claim-top-release");
        self.light("newest-light");
        if self.split.load(Relaxed) > i {
            return std::ptr::eq(self.conflict(i), task);
        }
        if self.half().special.get() & TOMBSTONES != 0 {
            self.drop_tombstones(i);
        }
        true
    }

    /// After the task at `top` was claimed: drops the tombstones just below, all at once. (Who
    /// joins out of order in a loop would fill the ring with them. Those deeper down go when they
    /// come to the top.)
    ///
    /// The rule is that of a claim: `top` goes down, then a look at `split`. If a thief has raised
    /// it meanwhile, `top` goes up again, and the tombstones stay: there is nothing among them that
    /// either of us could take.
    #[inline(never)]
    fn drop_tombstones(self, top: usize) {
        let split = self.split.load(Relaxed);
        let low = self.ring.with(|ring| {
            // SAFETY: we are the owner, who alone replaces the ring, so it stands still meanwhile.
            // (Its place and mask are read once, not for each slot.)
            let (slots, mask) = unsafe { ((*ring).slots, (*ring).mask) };
            let is_tombstone = |i: usize| {
                // SAFETY: the masked index is within the ring, which stands still, as above.
                unsafe { &*slots.add(i & mask) }.load(Relaxed).is_null()
            };
            let mut low = top;
            while low > split && is_tombstone(low - 1) {
                low -= 1;
            }
            low
        });
        if low < top {
            self.set_top(low, "claim-top-release");
            self.light("tombstone-light");
            if self.split.load(Relaxed) > low {
                return self.set_top(top, "claim-top-release");
            }
        }
        if low <= split {
            self.half().set_tombstones(false);
        }
    }

    /// Claims a task that is not the newest.
    #[inline(always)]
    fn claim_older(&self, task: &Header, i: usize, top: usize) -> bool {
        if i >= top {
            return false;
        }
        if i < self.split.load(Relaxed) {
            return self.claim_public(task, i);
        }
        // Any private position: leave a tombstone.
        std::ptr::eq(self.slot(i).load(Relaxed), task) && {
            self.half().set_tombstones(true);
            self.slot(i).store(null_mut(), Relaxed);
            self.light("middle-light");
            self.split.load(Relaxed) <= i || self.conflict_older(task)
        }
    }

    /// A tombstone was set where a thief is at work: once it is through, the mark says who has the
    /// task.
    #[cold]
    #[inline(never)]
    fn conflict_older(self, task: &Header) -> bool {
        drop(self.lock());
        task.flags().load(Relaxed) & TaskFlags::STOLEN == 0
    }

    #[cold]
    #[inline(never)]
    fn claim_public(self, task: &Header, i: usize) -> bool {
        // Below head nothing is ours. A task that a thief has moved to its own deque has a position
        // *there*, and if that is below our head, then our slot for it may be free and still hold
        // the record's address from an earlier life. Relaxed: whoever has written such a slot again
        // has seen a head above the position before (`make_room`).
        if i < self.head.load(Relaxed) && !on("claim-below-head") {
            return false;
        }
        // A look first: a task that was stolen and moved has a position of the thief's deque, which
        // means nothing here.
        let found = self.slot(i).load(Relaxed);
        if !std::ptr::eq(found, task) {
            return false;
        }
        // Relaxed: the record is our own; a thief's swap of the same slot is under the lock and
        // decides by value.
        self.slot(i).compare_exchange(found, null_mut(), Relaxed, Relaxed).is_ok()
    }
}
