//! A worker's inbox: blocked tasks of this worker that another thread has woken.
//!
//! A stack that anybody pushes on with a CAS and the owner empties with one swap: no ABA. "Woken
//! before its stack is saved" is harmless, because only the home takes nodes out, in its loop, that
//! is after the switch.
//!
//! **Ordering.** Push (release) with `take` (acquire): `next`, and what the waker did before, for
//! the woken task.
//!
//! Tests: `tests/loom/handoff.rs`.

use super::parked::{Parked, Resumable};
use myriad_base::sys::atomic::{AtomicPtr, Ordering::*};
use myriad_base::sys::mutant::ord;
use std::ptr::null_mut;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Inbox {
    newest: AtomicPtr<Parked>,
}

impl Default for Inbox {
    fn default() -> Self {
        Inbox { newest: AtomicPtr::new(null_mut()) }
    }
}

impl Inbox {
    /// Adds a woken node. The owner may run and free it at once.
    pub(crate) fn push(&self, node: Resumable) {
        let node = node.into_raw();
        let mut newest = self.newest.load(Relaxed);
        loop {
            // SAFETY: `node` was a `Resumable`: so it is in no list and stands, and `next` is ours
            // until the exchange succeeds.
            unsafe { (*node).next.with_mut(|next| *next = newest) };
            match self.newest.compare_exchange_weak(newest, node, ord(Release, "inbox-release"), Relaxed) {
                Ok(_) => return,
                Err(now) => newest = now,
            }
        }
    }

    /// Is there nothing? (A look without taking.)
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.load(Relaxed).is_null()
    }

    /// In a model, for a loop that waits for a node.
    #[cfg(all(test, loom))]
    pub fn peek_is_empty(&self) -> bool {
        myriad_base::sys::atomic::Peek::peek(&self.newest, Relaxed).is_null()
    }

    /// Takes all, oldest first, and hands each to `each`.
    pub(crate) fn take(&self, mut each: impl FnMut(Resumable)) {
        // Acquire: pairs with the Release of every push in the chain (all are read-modify-writes).
        let mut node = self.newest.swap(null_mut(), ord(Acquire, "inbox-acquire"));
        let mut oldest = null_mut();
        while !node.is_null() {
            // SAFETY: the swap made the whole chain ours, and a node in it stands until its task
            // goes on.
            node = unsafe {
                (*node).next.with_mut(|next| std::mem::replace(&mut *next, std::mem::replace(&mut oldest, node)))
            };
        }
        while !oldest.is_null() {
            // SAFETY: the swap made the whole chain ours; read before `each`, which may let the
            // node go.
            let next = unsafe { (*oldest).next.with(|next| *next) };
            // SAFETY: pushed as one, and taken out of the chain just now.
            each(unsafe { Resumable::from_raw(oldest) });
            oldest = next;
        }
    }
}
