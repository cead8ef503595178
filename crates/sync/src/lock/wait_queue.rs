//! Those who wait for the same thing, and go on together.
//!
//! **Generations.** Each who joins a wait queue bears its number; letting it go raises the number,
//! so those who come meanwhile are not let go with it. Targets are woken in batches, without the
//! lock, first come, first served. One whose time is over meanwhile was let go if its number is
//! lower, whether its waker has come to it or not.

use crate::entry::{DONE, Entry, LINKED, List};
use crate::guarded::Guarded;
use crate::wake_list::WakeList;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, Waiter};

/// See the module's header.
pub(super) struct WaitQueue {
    list: List<u64>,
    generation: u64,
}

const _: () = crate::values::no_drop_glue::<WaitQueue>();

/// Of one who is let go alone: greater than all generations.
pub(super) static ALONE: u64 = u64::MAX;

impl WaitQueue {
    pub(super) const fn new() -> WaitQueue {
        WaitQueue { list: List::new(), generation: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Begins to wait.
    ///
    /// # Safety
    /// `entry` is live and in no list, and stays where it is while linked; the lock is held.
    pub(super) unsafe fn join(&mut self, entry: *mut Entry<u64>, waiter: Waiter) {
        // SAFETY: `entry` is live, in no list, and stays where it is, and the lock is held (this
        // function's contract); it is ours until it is linked.
        unsafe {
            (*entry).put(&raw const self.generation);
            self.list.push(entry, waiter);
        }
    }

    /// For [`Op::withdraw`](super::op::Op::withdraw): takes an entry out that is still linked, with
    /// its waiter. `DONE` also if its generation was let go, and [`release_all`] has not come to it
    /// yet.
    ///
    /// # Safety
    /// `entry` was linked by `join`, in this queue, and is its owner's, who calls; the lock is
    /// held.
    pub(super) unsafe fn leave(&mut self, entry: *mut Entry<u64>) -> (u8, Option<Waiter>) {
        // SAFETY: `entry` was linked by `join` (this function's contract), which has filled its
        // slot; if it is linked still, it stays so under the lock.
        unsafe {
            let state = (*entry).state();
            let waiter = (state == LINKED).then(|| self.list.remove(entry));
            (*entry).reset();
            let released = *(*entry).slot() < self.generation && !on("let-go-forgotten");
            (if released { DONE } else { state }, waiter)
        }
    }

    /// The first is to go on, alone.
    pub(super) fn one(&mut self) -> Option<Waiter> {
        // SAFETY: the lock is held, and the state is reached under it only.
        unsafe {
            self.list.claim_first().map(|(entry, waiter)| {
                (*entry).put(&raw const ALONE);
                Entry::end(entry, DONE);
                waiter
            })
        }
    }

    /// Those who wait now are to go on: to be followed by [`release_all`], without the lock.
    pub(super) fn all(&mut self) -> u64 {
        self.generation += 1;
        self.generation - 1
    }

    /// Some of those who came up to this generation.
    pub(super) fn take(&mut self, upto: u64, outcome: u8, woken: &mut WakeList) {
        while woken.has_room() && !self.list.is_empty() {
            let entry = self.list.first();
            // SAFETY: under the lock; linked entries are live and their slots full.
            unsafe {
                if *(*entry).slot() > upto {
                    return;
                }
                if let Some(waiter) = self.list.claim(entry) {
                    Entry::end(entry, outcome);
                    woken.push(waiter);
                }
            }
        }
    }
}

/// Lets all go who came up to this generation.
#[cold]
pub(super) fn release_all<S>(guarded: &Guarded<S>, wait_queue: fn(&mut S) -> &mut WaitQueue, upto: u64, outcome: u8) {
    WakeList::wake_all(|woken| guarded.locked(Caller::get(), |state| wait_queue(state).take(upto, outcome, woken)));
}
