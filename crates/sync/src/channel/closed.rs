//! Waiting for the close, as one who sends: for work that nobody would receive.

use super::Sender;
use super::chan::Chan;
use super::entry::{CLOSED, Entry, IDLE};
use myriad_core::engine::wait::{Caller, InHand, WaitReason};
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

impl<T> Sender<T> {
    /// Waits until the channel is closed: by anybody, or because the last receiver has gone.
    ///
    /// # Blocking
    /// Until then. The calling task is set aside meanwhile, a foreign thread sleeps. O(1).
    ///
    /// # Cancellation
    /// A task that is cancelled while it waits unwinds.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::bounded::<u32>(1);
    /// let waiting = myriad::spawn(move || tx.closed());
    /// drop(rx);
    /// waiting.join().unwrap();
    /// ```
    pub fn closed(&self) {
        myriad_core::block_on(self.closed_async());
    }

    /// A future that is ready when the channel is closed: by anybody, or because the last receiver
    /// has gone.
    ///
    /// # Cancellation
    /// Dropping it has no effect.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::rendezvous, select_async};
    /// let (answer, asker) = rendezvous::<u32>();
    /// let working = myriad::spawn_async(async move {
    ///     select_async! {
    ///         _ = std::future::pending::<()>() => "done",     // the work
    ///         _ = answer.closed_async() => "nobody asks any more",
    ///     }
    /// });
    /// drop(asker);
    /// assert_eq!(working.join().unwrap(), "nobody asks any more");
    /// ```
    pub fn closed_async(&self) -> impl Future<Output = ()> + use<'_, T> {
        Closed { chan: self.chan(), entry: Entry::new(), _pinned: PhantomPinned }
    }
}

/// Stands in the list of those who wait for the close.
struct Closed<'a, T> {
    chan: &'a Chan<T>,
    /// Its slot is never used.
    entry: Entry<T>,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the channel's lock, or by the holder; it never has a message.
unsafe impl<T: Send> Send for Closed<'_, T> {}
// SAFETY: nothing can be done with `&Closed`.
unsafe impl<T: Send> Sync for Closed<'_, T> {}

impl<T> Future for Closed<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let at = &raw mut this.entry;
        // Cloned and discarded without the lock: wakers are user code.
        let mut waiter = InHand::future(cx.waker());
        let caller = Caller::get();
        // SAFETY: our own entry, which is pinned; the drop takes it out.
        let closed = this.chan.locked(caller, |state| unsafe { state.wait_closed(at, &mut waiter) });
        if closed {
            return Poll::Ready(());
        }
        caller.note_await(WaitReason::Other, std::ptr::from_ref(this.chan).cast());
        Poll::Pending
    }
}

impl<T> Drop for Closed<'_, T> {
    fn drop(&mut self) {
        if matches!(self.entry.state(), IDLE | CLOSED) {
            return;
        }
        let (caller, at) = (Caller::get(), &raw mut self.entry);
        caller.forget_await();
        // SAFETY: our own entry. Afterwards nobody else knows it.
        let waiter = self.chan.locked(caller, |state| unsafe { state.leave_closed(at) });
        drop(InHand::new(waiter));
    }
}
