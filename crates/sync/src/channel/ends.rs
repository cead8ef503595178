//! The two ends' hold on a channel: who closes it, who frees it.
//!
//! Each side has a count. The last end of a side closes the channel; the last side to leave frees it.

use super::chan::Chan;
use super::{Receiver, Sender};
use myriad_core::sys::atomic::{AtomicU32, Ordering::*};
use std::ptr::NonNull;

/// One end's share of a channel.
pub(super) struct Share<T>(NonNull<Chan<T>>);

// SAFETY: a share is a counted reference to a channel, which is Send and Sync for T: Send.
unsafe impl<T: Send> Send for Share<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Share<T> {}

/// More ends than this of one side surely leak.
const MOST: u32 = u32::MAX / 2;

pub(super) fn new<T>(limit: usize) -> (Sender<T>, Receiver<T>) {
    // A box, not an Arc: the two counts know when it is free.
    let chan = NonNull::from(Box::leak(Box::new(Chan::new(limit))));
    (Sender::new(Share(chan)), Receiver::new(Share(chan)))
}

impl<T> Share<T> {
    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
        // SAFETY: the channel lives as long as a share of it.
        unsafe { self.0.as_ref() }
    }

    /// One more end of the side that `count` counts.
    pub(super) fn share(&self, count: fn(&Chan<T>) -> &AtomicU32) -> Share<T> {
        // Relaxed: as any reference count; the new end is handed on by other means.
        if count(self.chan()).fetch_add(1, Relaxed) > MOST {
            myriad_core::sys::thread::abort_with("a channel has more than two thousand million ends");
        }
        Share(self.0)
    }

    /// An end goes.
    ///
    /// # Safety
    /// The share is not used afterwards.
    pub(super) unsafe fn leave(&self, count: fn(&Chan<T>) -> &AtomicU32) {
        let chan = self.chan();
        // AcqRel: what the other ends of this side did comes before the close and the free.
        if count(chan).fetch_sub(1, AcqRel) > 1 {
            return;
        }
        chan.close();
        // AcqRel: what the first side did comes before the second's free.
        if chan.left.swap(true, AcqRel) {
            // SAFETY: both sides are gone, so nobody has a share any more.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}
