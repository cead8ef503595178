//! The two ends' hold on a channel: who closes it, who frees it.
//!
//! Each side has a count. The last end of a side closes the channel; the last receiver also drops what is buffered, since
//! somebody may wait for that (a request that holds the way to answer it); the last side to leave frees the channel.

use super::chan::{Chan, Side, State, WhenFull};
use super::{Receiver, Sender};
use myriad_core::sys::atomic::Ordering::*;
use myriad_core::sys::mutant::ord;
use std::ptr::NonNull;

/// One end's share of a channel.
pub(super) struct Share<T>(NonNull<Chan<T>>);

// SAFETY: a share is a counted reference to a channel, which is Send and Sync for T: Send.
unsafe impl<T: Send> Send for Share<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Share<T> {}

/// More ends than this of one side surely leak.
const MOST: u32 = u32::MAX / 2;

pub(super) fn new<T>(limit: usize, when_full: WhenFull) -> (Sender<T>, Receiver<T>) {
    // A box, not an Arc: the two counts know when it is free.
    let chan = NonNull::from(Box::leak(Box::new(Chan::new(limit, when_full))));
    (Sender::new(Share(chan)), Receiver::new(Share(chan)))
}

impl<T> Share<T> {
    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
        // SAFETY: the channel lives as long as a share of it.
        unsafe { self.0.as_ref() }
    }

    /// One more end of this side.
    pub(super) fn share(&self, of: Side) -> Share<T> {
        // Relaxed: as any reference count; the new end is handed on by other means.
        if self.chan().count(of).fetch_add(1, Relaxed) > MOST {
            myriad_core::sys::thread::abort_with("a channel has more than two thousand million ends");
        }
        Share(self.0)
    }

    /// An end of this side goes.
    ///
    /// # Safety
    /// The share is not used afterwards.
    pub(super) unsafe fn leave(&self, of: Side) {
        let chan = self.chan();
        // The only end of its side, most often: nobody else can change the count, so no read-modify-write (6 ns). Acquire
        // and AcqRel: what the other ends of this side did comes before the close and the free.
        let count = chan.count(of);
        if count.load(ord(Acquire, "count-load")) != 1 && count.fetch_sub(1, ord(AcqRel, "count-sub")) > 1 {
            return;
        }
        let (mut unread, mut rest) = (None, None);
        // Acquire: pairs with the other side's swap below. It has left for good: nothing to close.
        if !chan.left.load(ord(Acquire, "left-load")) {
            match of {
                Side::Send => _ = chan.close(),
                Side::Receive => unread = Some(chan.close_and(State::drain).1),
            }
        }
        // AcqRel: what the first side did comes before the second's free.
        if chan.left.load(ord(Acquire, "left-load")) || chan.left.swap(true, ord(AcqRel, "left-swap")) {
            // SAFETY: both sides are gone, so nobody has a share any more.
            rest = Some(unsafe { Box::from_raw(self.0.as_ptr()) }.take_rest());
        }
        // Without the channel: a message's destructor is user code, may be that of the other side, and may panic.
        drop((unread, rest));
    }
}
