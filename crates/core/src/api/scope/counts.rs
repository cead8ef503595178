//! How a scope counts its tasks. The rules, and what they order, stand in the scope's header.

use crate::queue::parked::{Parked, Resumable};
use crate::sched::worker::{Worker, wake_node};
use myriad_base::sys::atomic::{AtomicIsize, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use std::cell::Cell;

pub(super) const OPEN: isize = isize::MAX / 2;

/// In cache lines of its own: other workers write it for each task, and the owner reads and writes
/// what would stand beside it.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

impl<T> std::ops::Deref for Apart<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

#[derive(Debug)]
pub(super) struct Counts {
    /// The owner's thread ([`Stacks::runner`](crate::sched::stacks::Stacks::runner)); null for a
    /// foreign one.
    pub(super) owner: *const (),
    /// Touched only on the owner's thread, until `merged`.
    pub(super) local: Cell<isize>,
    pub(super) merged: Cell<bool>,
    pub(super) shared: Apart<AtomicIsize>,
    /// Who waits at the end; written before the merge.
    pub(super) waiter: UnsafeCell<*mut Parked>,
}

// SAFETY: `local` and `merged` are touched by the owner's thread only, `waiter` is written before
// the merge and read after a count down that came after it.
unsafe impl Sync for Counts {}

// SAFETY: the owner does not leave its thread; what others reach is atomic, or `waiter`, by the
// order above.
unsafe impl Send for Counts {}

impl Counts {
    fn is_owner(&self, w: Option<&Worker>) -> bool {
        w.is_some_and(|w| std::ptr::eq(w.stacks.runner(), self.owner))
    }

    /// One more task.
    #[inline]
    pub(super) fn up(&self, w: Option<&Worker>) {
        if self.is_owner(w) && !self.merged.get() {
            self.local.set(self.local.get() + 1);
        } else {
            // Relaxed: the spawner is itself counted, or is the owner.
            self.shared.fetch_add(1, Relaxed);
        }
    }

    /// One task has ended. The last access of the task to the scope.
    #[inline(always)]
    pub(super) fn down(&self, w: Option<&Worker>) {
        if self.is_owner(w) && !self.merged.get() {
            self.local.set(self.local.get() - 1);
        } else {
            self.down_shared(w);
        }
    }

    #[inline(never)]
    fn down_shared(&self, w: Option<&Worker>) {
        // AcqRel: what the task did, for the owner; what the others did, for the one who wakes it.
        if self.shared.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: at 0 the owner has merged and waits for us; it wrote the word before.
            let node = unsafe { Resumable::from_raw(self.waiter.with(|waiter| *waiter)) };
            wake_node(w, node);
        }
    }
}
