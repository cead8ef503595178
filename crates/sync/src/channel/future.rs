//! Sending and receiving as futures.
//!
//! The entry stands in the future itself, which is pinned while it is linked; dropping the future unlinks it. A message
//! that was handed to a receive that is then dropped goes to the next receiver: nothing is lost. Between the two it is
//! neither buffered nor received: if the channel is closed meanwhile, another receiver finds nothing and hears `Closed`.

use super::chan::{Chan, Received, Sent, Side};
use super::entry::{CLOSED, DONE, Entry, IDLE, LINKED};
use super::error::{RecvError, SendError};
use super::receiver::wake_sender;
use myriad_core::sys::mutant::on;
use myriad_core::wait::{Here, Target};
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll};

/// What [`Receiver::recv_async`](super::Receiver::recv_async) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct RecvFuture<'a, T> {
    chan: &'a Chan<T>,
    entry: Entry<T>,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the channel's lock, or by the future's holder; messages are Send.
unsafe impl<T: Send> Send for RecvFuture<'_, T> {}
// SAFETY: nothing can be done with `&RecvFuture`.
unsafe impl<T: Send> Sync for RecvFuture<'_, T> {}

impl<'a, T> RecvFuture<'a, T> {
    #[inline(always)]
    pub(super) fn new(chan: &'a Chan<T>) -> Self {
        RecvFuture { chan, entry: Entry::new(), _pinned: PhantomPinned }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    /// Polled again after it was ready, it receives the next message.
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let here = Here::get();
        match this.entry.state() {
            DONE => {
                this.entry.reset();
                // SAFETY: it was handed over, and is ours.
                return Poll::Ready(Ok(unsafe { this.entry.take() }));
            }
            CLOSED => return Poll::Ready(Err(RecvError)),
            IDLE => {
                if !here.poll_spend(cx.waker()) {
                    return Poll::Pending;
                }
                // Most often a message is there: without a look at the waker.
                let mut state = this.chan.lock(here);
                if state.receives_quickly() {
                    // SAFETY: found under the same lock.
                    return Poll::Ready(Ok(unsafe { state.quick_recv() }));
                }
            }
            _ => {}
        }
        this.poll_waiting(here, cx)
    }
}

impl<T> RecvFuture<'_, T> {
    /// Begins to wait, or waits on, with this waker. (`self` is pinned: only `poll` calls this.)
    #[inline(never)]
    fn poll_waiting(&mut self, here: Here, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let at = &raw mut self.entry;
        let mut value = MaybeUninit::<T>::uninit();
        let place = value.as_mut_ptr();
        // Cloned without the lock: wakers are foreign code. Unused, or an older one, it is dropped last, without the lock.
        let mut target = Some(Target::future(cx.waker().clone()));
        // SAFETY: locked; the entry is ours to look at, and to link while the future is pinned. The place is empty, or holds
        // a message if it is done. A target was claimed, and is woken once, without the lock.
        unsafe {
            let received = self.chan.locked(here, |state| match (*at).state() {
                DONE => {
                    (*at).reset();
                    place.copy_from_nonoverlapping((*at).place(), 1);
                    Received::Done(None)
                }
                CLOSED => Received::Closed,
                LINKED if on("waker-kept") => Received::Empty,
                LINKED => {
                    target = target.take().map(|new| (*at).replace_target(new));
                    Received::Empty
                }
                _ => {
                    let received = state.try_recv(place);
                    if let (Received::Empty, Some(target)) = (&received, target.take()) {
                        state.wait(Side::Receive, at, target);
                    }
                    received
                }
            });
            match received {
                Received::Done(None) => {}
                Received::Done(Some(target)) => wake_sender(here, target, place),
                Received::Closed => return Poll::Ready(Err(RecvError)),
                Received::Empty => return Poll::Pending,
            }
            Poll::Ready(Ok(value.assume_init()))
        }
    }
}

impl<T> Drop for RecvFuture<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let state = self.entry.state();
        if state == IDLE || state == CLOSED {
            return;
        }
        let here = Here::get();
        // SAFETY: our own entry; afterwards nobody else knows it. If a message was handed over it is ours.
        unsafe {
            let target = self.chan.give_up(here, &raw mut self.entry, Side::Receive);
            if self.entry.state() == DONE && !on("not-given-back") {
                self.chan.give_back(here, self.entry.place());
            }
            drop(target);
        }
    }
}

/// What [`Sender::send_async`](super::Sender::send_async) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct SendFuture<'a, T> {
    chan: &'a Chan<T>,
    entry: Entry<T>,
    /// Is the message in the slot?
    full: bool,
    _pinned: PhantomPinned,
}

// SAFETY: as for `RecvFuture`.
unsafe impl<T: Send> Send for SendFuture<'_, T> {}
// SAFETY: as for `RecvFuture`.
unsafe impl<T: Send> Sync for SendFuture<'_, T> {}

impl<'a, T> SendFuture<'a, T> {
    #[inline(always)]
    pub(super) fn new(chan: &'a Chan<T>, value: T) -> Self {
        SendFuture { chan, entry: Entry::with(value), full: true, _pinned: PhantomPinned }
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    /// # Panics
    /// If polled again after it was ready.
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        assert!(this.full, "a send that was done is polled again");
        let here = Here::get();
        let at = &raw mut this.entry;
        if this.entry.state() == IDLE {
            if !here.poll_spend(cx.waker()) {
                return Poll::Pending;
            }
            // Most often there is room: without a look at the waker.
            // SAFETY: idle: the slot is full, and ours.
            unsafe {
                if this.chan.lock(here).quick_send(ManuallyDrop::new((*at).take())).is_ok() {
                    this.full = false;
                    return Poll::Ready(Ok(()));
                }
                // It is still in the slot.
            }
        }
        this.poll_waiting(here, cx)
    }
}

impl<T> SendFuture<'_, T> {
    /// Begins to wait, or waits on, with this waker. (`self` is pinned: only `poll` calls this.)
    #[inline(never)]
    fn poll_waiting(&mut self, here: Here, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let at = &raw mut self.entry;
        // As there: dropped last.
        let mut target = Some(Target::future(cx.waker().clone()));
        // SAFETY: locked; the entry is ours to look at, and to link while the future is pinned. Its slot is full unless it is
        // done. A target was claimed, and is woken once, without the lock.
        unsafe {
            let sent = self.chan.locked(here, |state| match (*at).state() {
                DONE => Sent::Done(None),
                CLOSED => Sent::Closed,
                LINKED => {
                    target = target.take().map(|new| (*at).replace_target(new));
                    Sent::Full
                }
                _ => {
                    let sent = state.try_send((*at).place());
                    if let (Sent::Full, Some(target)) = (&sent, target.take()) {
                        state.wait(Side::Send, at, target);
                    }
                    sent
                }
            });
            if let Sent::Full = sent {
                return Poll::Pending;
            }
            self.full = false;
            self.entry.reset();
            match sent {
                Sent::Done(Some(target)) => here.wake(target),
                Sent::Dropped => self.entry.place().drop_in_place(),
                Sent::Closed => return Poll::Ready(Err(SendError(self.entry.take()))),
                _ => {}
            }
            Poll::Ready(Ok(()))
        }
    }
}

impl<T> Drop for SendFuture<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.full {
            return;
        }
        // SAFETY: our own entry; afterwards nobody else knows it. The message is still in the slot unless it was taken.
        unsafe {
            let linked = self.entry.state() == LINKED;
            let _target = linked.then(|| self.chan.give_up(Here::get(), &raw mut self.entry, Side::Send));
            if self.entry.state() != DONE {
                self.entry.place().drop_in_place();
            }
        }
    }
}

impl<T> fmt::Debug for RecvFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecvFuture(..)")
    }
}
impl<T> fmt::Debug for SendFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendFuture(..)")
    }
}
