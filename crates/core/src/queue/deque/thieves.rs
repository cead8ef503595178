//! The thieves' side of the deque: asking, stealing, stealing by force.

use super::Deque;
use crate::record::header::{Header, TaskFlags};
use crate::record::task::Runnable;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::fence::heavy;
use myriad_base::sys::mutant::{on, ord};
use std::ptr::null_mut;

/// Tasks that one call of `any_from` looks at.
const SOME: usize = 1024;

impl Deque {
    /// Asks the owner to publish at its next push.
    #[inline]
    pub(crate) fn request(&self) {
        // A hint only: who relies on being heard (a sleeper) uses `request_reliably`.
        if self.steal_request.load(Relaxed) == 0 {
            if on("request-by-store") {
                self.steal_request.store(1, Relaxed);
            } else {
                // A swap: a store would end the release sequence of a sleeper's demand made since,
                // and the owner that clears the request would not see that somebody sleeps.
                self.steal_request.swap(1, Relaxed);
            }
        }
    }

    /// A sleeper's request, which the owner's next push cannot miss.
    pub(crate) fn request_reliably(&self) {
        // AcqRel read-modify-write: it continues the release sequence of another sleeper's request,
        // and pairs with the Acquire in `take_request`.
        self.steal_request.swap(1, ord(AcqRel, "request-release"));
    }

    /// The owner clears the request, to look for sleepers next.
    pub(crate) fn take_request(&self) {
        // First: who asks from now on finds that nothing is kept.
        self.keep_no_longer();
        if on("clear-by-store") {
            self.steal_request.store(0, Relaxed);
        } else {
            // Acquire: a sleeper's request that we clear shows us its count.
            self.steal_request.swap(0, ord(Acquire, "clear-acquire"));
        }
    }

    /// While anybody sleeps the request stands.
    pub(crate) fn keep_request(&self) {
        self.steal_request.swap(1, Relaxed);
    }

    /// The ordinary steal: takes the oldest public tasks, at most half of them and at most
    /// `room.len()`. How many.
    pub(crate) fn steal(&self, room: &mut [Option<Runnable>]) -> usize {
        if self.head.load(Relaxed) >= self.split.load(Relaxed) {
            return 0;
        }
        let Some(guard) = self.try_lock() else { return 0 };
        let (mut head, split) = (self.head.load(Relaxed), self.split.load(Relaxed));
        let most = room.len().min((split.saturating_sub(head)).div_ceil(2));
        let mut taken = 0;
        while head < split && taken < most {
            let slot = guard.slot(head);
            let task = if on("steal-load-store") {
                let task = slot.load(Relaxed);
                slot.store(null_mut(), Relaxed);
                task
            } else {
                // A swap: the owner's CAS of the same slot (`claim_public`) does not take the lock.
                slot.swap(null_mut(), Relaxed)
            };
            head += 1;
            // SAFETY: the swap, under the lock, has taken the task out of the deque, for this
            // caller alone. Null is a tombstone.
            if let Some(task) = unsafe { Runnable::from_slot(task) } {
                room[taken] = Some(task);
                taken += 1;
            }
        }
        // Release: pairs with the owner's Acquire in `make_room`.
        self.head.store(head, ord(Release, "head-release"));
        self.count_taken(taken);
        taken
    }

    /// A thief, with the lock, has taken so many.
    fn count_taken(&self, tasks: usize) {
        self.taken.store(self.taken.load(Relaxed).wrapping_add(tasks), Relaxed);
    }

    /// How many tasks thieves have taken since the deque was made. For any thread.
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }

    /// Takes the oldest private task of an owner that does not come by. Costs a heavy fence.
    #[cold]
    pub(crate) fn steal_forced(&self) -> Option<Runnable> {
        if self.top.load(Relaxed) <= self.split.load(Relaxed) {
            return None;
        }
        let guard = self.try_lock()?;
        let split = self.split.load(Relaxed);
        if self.head.load(Relaxed) != split {
            return None;
        }
        // A first guess at the oldest task (Relaxed: everything is looked at again after the
        // fence).
        let guess = self.top.load(Relaxed);
        let oldest = (split..guess).find(|&i| !guard.slot(i).load(Relaxed).is_null())?;
        if !on("forced-no-split") {
            self.split.store(oldest + 1, Relaxed);
        }
        if !on("forced-no-heavy") {
            heavy();
        }
        // Acquire: pairs with every store of top by the owner: the slots below it, and the records.
        let top = self.top.load(ord(Acquire, "forced-top-acquire"));
        if top > oldest || on("forced-no-top-check") {
            let first = if on("forced-no-rescan") { oldest } else { split };
            for i in first..=oldest {
                // SAFETY: the swap, under the lock, takes the task out of the deque, for this
                // caller alone. Null is a tombstone.
                if let Some(task) = unsafe { Runnable::from_slot(guard.slot(i).swap(null_mut(), Relaxed)) } {
                    if !on("forced-no-stolen-flag") {
                        task.header().flags().fetch_or(TaskFlags::STOLEN, Relaxed);
                    }
                    self.head.store(i + 1, ord(Release, "head-release"));
                    self.split.store(i + 1, Relaxed);
                    self.count_taken(1);
                    return Some(task);
                }
            }
        }
        self.split.store(split, Relaxed);
        None
    }

    /// In a model, when no other thread is at it: the order of the indices (I3).
    #[cfg(all(test, loom))]
    pub fn assert_at_rest(&self) {
        let _guard = self.lock();
        let (head, split, top) = (self.head.load(Relaxed), self.split.load(Relaxed), self.top.load(Relaxed));
        assert!(head <= split && split <= top, "head {head:#x}, split {split:#x}, top {top:#x} are out of order");
    }

    /// Where the owner is: changes as it pushes and pops.
    pub(crate) fn position(&self) -> usize {
        self.top.load(Relaxed)
    }

    /// How many tasks are there, at most: tombstones count as well. An estimate, for any thread.
    pub(crate) fn len(&self) -> usize {
        let head = self.head.load(Relaxed);
        self.top.load(Relaxed).saturating_sub(head)
    }

    /// Is there perhaps a task? Indices only: the ring would need the lock.
    pub(crate) fn looks_busy(&self) -> bool {
        self.top.load(Relaxed) > self.head.load(Relaxed)
    }

    /// Does this hold of one of the tasks? Looks at some of them, from the position `from` on
    /// (which is an older one's if there is none), and says in `from` where it has stopped. A hint:
    /// the owner may take them, run them and end them meanwhile.
    pub(crate) fn any_from(&self, from: &mut usize, holds: impl Fn(*mut Header) -> bool) -> bool {
        if !self.looks_busy() {
            *from = self.position();
            return false;
        }
        let Some(guard) = self.try_lock() else { return false };
        let (head, top) = (self.head.load(Relaxed), self.top.load(Relaxed));
        let first = if (head..top).contains(from) { *from } else { head };
        let end = top.min(first + SOME);
        *from = end;
        (first..end).map(|i| guard.slot(i).load(Relaxed)).any(|task| !task.is_null() && holds(task))
    }

    /// For a sleeper's last look, after its heavy fence: is there a task, or somebody at work? Not
    /// if there is nothing but tombstones, which the owner may leave for long: a sleeper that took
    /// them for tasks would never sleep.
    pub(crate) fn is_busy(&self) -> bool {
        if !self.looks_stealable() || on("tombstones-are-tasks") {
            return self.looks_stealable();
        }
        // Who holds the lock may give something back: look again.
        let Some(guard) = self.try_lock() else { return true };
        let (head, top) = (self.head.load(Relaxed), self.top.load(Relaxed));
        // Relaxed: after the heavy fence we see each push that came before it, and the later ones
        // see our request.
        (head..top).any(|i| !guard.slot(i).load(Relaxed).is_null())
    }
}
