//! The two ends' hold on a channel: who closes it, who frees it.
//!
//! Each side has a count. The last end of a side closes the channel; the last receiver also drops
//! what is buffered, since somebody may wait for that (a request that holds the way to answer it).
//!
//! Each side that has ends, and each [weak end](super::weak), *holds* the channel; the last holder
//! frees it.

use super::chan::{Chan, ChanState, Side, WhenFull};
use super::ring::Messages;
use super::{Receiver, Sender};
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::mutant::ord;
use myriad_core::engine::made;
use std::panic::Location;
use std::ptr::NonNull;

/// One end's share of a channel.
pub(super) struct Share<T>(NonNull<Chan<T>>);

// SAFETY: a share is a counted reference to a channel, which is Send and Sync for T: Send.
unsafe impl<T: Send> Send for Share<T> {}
// SAFETY: a shared one gives `&Chan`, and a channel is `Sync` for `T: Send`.
unsafe impl<T: Send> Sync for Share<T> {}

/// One end, in a count of them.
const ONE: u32 = 2;
/// In a count of ends: there are weak ones of this side, or were, which may make ends of
/// themselves.
const WEAK: u32 = 1;
/// A count above this surely leaks.
const MOST: u32 = u32::MAX / 2;
/// The count of a side that has one end.
pub(super) const FIRST: u32 = ONE;

/// How many ends a count says.
pub(super) fn ends(count: u32) -> usize {
    (count / ONE) as usize
}

fn too_many() -> ! {
    myriad_base::sys::thread::abort_with("a channel has more than a thousand million ends")
}

#[track_caller]
pub(super) fn new<T>(limit: usize, when_full: WhenFull) -> (Sender<T>, Receiver<T>) {
    // A box, not an Arc: the two counts know when it is free.
    let chan = NonNull::from(Box::leak(Box::new(Chan::new(limit, when_full))));
    if made::is_on() {
        // SAFETY: `release` has it forgotten before it frees the channel.
        unsafe { made::note(chan.as_ptr().cast(), Location::caller(), Some(questions::<T>())) };
    }
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
        if self.chan().count(of).fetch_add(ONE, Relaxed) > MOST {
            too_many();
        }
        Share(self.0)
    }

    /// One more holder, which may become an end of this side again.
    pub(super) fn downgrade(&self, of: Side) -> WeakShare<T> {
        // Relaxed: as in `share`; nobody looks for the mark but the ends that go, of which this is
        // none.
        self.chan().count(of).fetch_or(WEAK, Relaxed);
        self.chan().holders().fetch_add(1, Relaxed);
        WeakShare(self.0)
    }

    /// An end of this side goes.
    ///
    /// # Safety
    /// The share is not used afterwards.
    #[inline]
    pub(super) unsafe fn leave(&self, of: Side) {
        let chan = self.chan();
        // The only end of its side, most often: nobody else can change the count, so no
        // read-modify-write (6 ns), unless there are weak ones. Acquire and AcqRel: what the other
        // ends of this side did comes before the close and the free.
        let count = chan.count(of);
        if count.load(ord(Acquire, "count-load")) == ONE {
            count.store(0, Relaxed);
        } else if count.fetch_sub(ONE, ord(AcqRel, "count-sub")) >= 2 * ONE {
            return;
        }
        // SAFETY: the share is not used afterwards (this function's contract), and it was the last
        // of its side.
        unsafe { self.leave_for_good(of) }
    }

    /// The last end of this side goes. (Apart, so that one of many goes quickly.)
    ///
    /// # Safety
    /// This share was the last of its side, whose count is 0 now, and is not used afterwards.
    #[inline(never)]
    unsafe fn leave_for_good(&self, of: Side) {
        let chan = self.chan();
        let mut unread = None;
        // Acquire: pairs with the other holders' release below. They have left for good: nothing to
        // close.
        if chan.holders().load(ord(Acquire, "left-load")) != 1 {
            match of {
                Side::Send => _ = chan.close(),
                Side::Receive => unread = Some(chan.close_and(ChanState::drain).1),
            }
        }
        // SAFETY: the side is gone, and with it its hold; the channel is not used afterwards.
        let rest = unsafe { release(self.0) };
        // Without the channel: a message's destructor is user code, may be that of the other side,
        // and may panic.
        drop((unread, rest));
    }
}

/// For dumps.
///
/// # Safety
/// The address is that of a channel of `T`, which is there.
unsafe fn count_ends<T>(chan: *const ()) -> (usize, usize) {
    // SAFETY: the channel is there (this function's contract); counts are atomic.
    let chan = unsafe { &*chan.cast::<Chan<T>>() };
    (chan.ends(Side::Send), chan.ends(Side::Receive))
}

/// # Safety
/// As for [`count_ends`].
unsafe fn are_idle<T>(chan: *const ()) -> (bool, bool) {
    // SAFETY: the channel is there (this function's contract).
    unsafe { &*chan.cast::<Chan<T>>() }.are_idle()
}

fn questions<T>() -> made::Questions {
    made::Questions { ends: count_ends::<T>, idle: are_idle::<T> }
}

/// A holder goes. The last one frees the channel; what was left in it is for the caller to drop.
///
/// # Safety
/// It was one, and does not use the channel any more.
#[inline(always)]
unsafe fn release<T>(chan: NonNull<Chan<T>>) -> Option<Messages<T>> {
    // SAFETY: the channel was held until now (this function's contract), so it is alive.
    let holders = unsafe { chan.as_ref().holders() };
    // AcqRel: what the others did comes before the last one's free.
    if holders.load(ord(Acquire, "left-load")) == 1 || holders.fetch_sub(1, ord(AcqRel, "left-swap")) == 1 {
        if made::is_on() {
            made::forget(chan.as_ptr().cast());
        }
        // SAFETY: this was the last holder: the channel is ours alone, in the box that `new` has
        // leaked.
        return Some(unsafe { Box::from_raw(chan.as_ptr()) }.take_rest());
    }
    None
}

/// A weak end's hold on a channel: it keeps the memory, and nothing open.
pub(super) struct WeakShare<T>(NonNull<Chan<T>>);

// SAFETY: what can be done with a hold, and with the share that it may become, can be done from any
// thread if messages may change threads.
unsafe impl<T: Send> Send for WeakShare<T> {}
// SAFETY: a shared one gives no more than a share would: `&Chan`.
unsafe impl<T: Send> Sync for WeakShare<T> {}

impl<T> WeakShare<T> {
    pub(super) fn chan(&self) -> &Chan<T> {
        // SAFETY: the hold keeps the channel's memory.
        unsafe { self.0.as_ref() }
    }

    /// An end of this side, unless the last one has gone.
    pub(super) fn upgrade(&self, of: Side) -> Option<Share<T>> {
        let count = self.chan().count(of);
        let mut ends = count.load(Relaxed);
        while ends >= ONE {
            if ends > MOST {
                too_many();
            }
            // Acquire: as std's `Weak`: what was done before the ends were handed on.
            match count.compare_exchange(ends, ends + ONE, Acquire, Relaxed) {
                Ok(_) => return Some(Share(self.0)),
                Err(now) => ends = now,
            }
        }
        None
    }
}

impl<T> Clone for WeakShare<T> {
    fn clone(&self) -> Self {
        // Relaxed: as any reference count.
        if self.chan().holders().fetch_add(1, Relaxed) > MOST {
            too_many();
        }
        WeakShare(self.0)
    }
}

impl<T> Drop for WeakShare<T> {
    fn drop(&mut self) {
        // SAFETY: its own hold. (Nothing is left in it: the last receiver has dropped what was.)
        drop(unsafe { release(self.0) });
    }
}
