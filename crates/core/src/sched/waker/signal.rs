//! What the waker of [`block_on`](crate::block_on) tells: a word in which one waits.
//!
//! ```text
//!  CLEAR --publish--> node of who waits --notify--> NOTIFIED      (the notifier wakes the node)
//!  CLEAR --notify--> NOTIFIED --clear--> CLEAR                    (who would wait polls again)
//!                    node --take_back--> CLEAR                    (the wait was cancelled)
//! ```
//! **Invariant.** A node is taken out once: by the `notify` that wakes it, or by `take_back`.
//!
//! **Ordering.** What the notifier did is seen by the poll after `clear`: Release of the swap in
//! `notify` with Acquire of that in `clear`. The node: Release of `publish` with Acquire of
//! `notify`. A read-modify-write in every state, as in [`crate::record::state`].

use crate::queue::parked::{Parked, Resumable};
use myriad_base::sys::atomic::{AtomicPtr, Ordering::*};
use std::ptr::null_mut;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Signal(AtomicPtr<Parked>);

const CLEAR: *mut Parked = null_mut();
const NOTIFIED: *mut Parked = std::ptr::without_provenance_mut(1);

impl Signal {
    pub(crate) fn new() -> Signal {
        Signal(AtomicPtr::new(CLEAR))
    }

    /// Before a poll: what comes from now on is a new notification.
    #[inline(always)]
    pub(crate) fn clear(&self) {
        // Acquire: pairs with the Release in `notify`: the poll sees what the waker did.
        self.0.swap(CLEAR, Acquire);
    }

    /// Publishes the node of who waits. False: it was notified since it was cleared.
    #[inline(always)]
    pub(crate) fn publish(&self, node: *const Parked) -> bool {
        // Release: the node, for `notify`.
        self.0.compare_exchange(CLEAR, node.cast_mut(), Release, Relaxed).is_ok()
    }

    /// Takes the node back. False: somebody has taken it out, and wakes it.
    pub(crate) fn take_back(&self, node: *const Parked) -> bool {
        self.0.compare_exchange(node.cast_mut(), CLEAR, Acquire, Relaxed).is_ok()
    }

    /// Notifies. What comes back was published, and is the caller's alone to wake.
    #[inline(always)]
    #[must_use = "who waits is woken by the caller"]
    pub(crate) fn notify(&self) -> Option<Resumable> {
        // AcqRel. Release: the waker's data, for the poll. Acquire: the node.
        let waiting = self.0.swap(NOTIFIED, AcqRel);
        // SAFETY: a node that was published, whose owner blocks until it is woken; taken out by
        // this call alone.
        (waiting != NOTIFIED).then(|| unsafe { Resumable::from_slot(waiting) }).flatten()
    }
}
