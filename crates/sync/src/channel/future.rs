//! Sending and receiving as futures.
//!
//! The entry stands in the future itself, which is pinned while it is linked; dropping the future unlinks it. A message
//! that was handed to a receive that is then dropped goes to the next receiver: nothing is lost. Between the two it is
//! neither buffered nor received: if the channel is closed meanwhile, another receiver finds nothing and hears `Closed`.

use super::chan::{Chan, Received, Sent, Side};
use super::entry::{CLOSED, DONE, Entry, IDLE, LINKED};
use super::error::{RecvError, SendError};
use myriad_core::wait::{Here, Target};
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
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
                if let Some(value) = this.chan.lock(here).quick_recv() {
                    return Poll::Ready(Ok(value));
                }
            }
            _ => {}
        }
        this.poll_waiting(here, cx)
    }
}

impl<T> RecvFuture<'_, T> {
    #[inline(always)]
    fn received(here: Here, tried: Received<T>) -> Poll<Result<T, RecvError>> {
        match tried {
            Received::Done(value, target) => {
                if let Some(target) = target {
                    // SAFETY: claimed, and woken once.
                    unsafe { here.wake(target) };
                }
                Poll::Ready(Ok(value))
            }
            Received::Closed => Poll::Ready(Err(RecvError)),
            Received::Empty => Poll::Pending,
        }
    }

    /// Begins to wait, or waits on, with this waker. (`self` is pinned: only `poll` calls this.)
    #[inline(never)]
    fn poll_waiting(&mut self, here: Here, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        let at = &raw mut self.entry;
        // Cloned without the lock: wakers are foreign code.
        let mut target = Some(Target::future(cx.waker().clone()));
        let tried = self.chan.locked(here, |state| {
            // SAFETY: locked; the entry is ours to look at, and to link while the future is pinned.
            unsafe {
                match (*at).state() {
                    DONE => {
                        (*at).reset();
                        Received::Done((*at).take(), None)
                    }
                    CLOSED => Received::Closed,
                    LINKED => {
                        target = target.take().map(|new| (*at).replace_target(new));
                        Received::Empty
                    }
                    _ => {
                        let tried = state.try_recv();
                        if let (Received::Empty, Some(target)) = (&tried, target.take()) {
                            state.wait(Side::Receive, at, target);
                        }
                        tried
                    }
                }
            }
        });
        // `target`, unused or an older one, is dropped after the wake: it may be foreign code that panics.
        Self::received(here, tried)
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
            drop(self.chan.give_up(here, &raw mut self.entry, Side::Receive));
            if self.entry.state() == DONE {
                self.chan.give_back(here, self.entry.take());
            }
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
        let entry = Entry::new();
        // SAFETY: the slot is empty, the entry ours.
        unsafe { entry.put(value) };
        SendFuture { chan, entry, full: true, _pinned: PhantomPinned }
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
                match this.chan.lock(here).quick_send((*at).take()) {
                    Ok(()) => {
                        this.full = false;
                        return Poll::Ready(Ok(()));
                    }
                    Err(value) => (*at).put(value),
                }
            }
        }
        this.poll_waiting(here, cx)
    }
}

impl<T> SendFuture<'_, T> {
    #[inline(always)]
    fn sent(&mut self, here: Here, tried: Sent<T>) -> Poll<Result<(), SendError<T>>> {
        self.full = false;
        match tried {
            Sent::Done(target) => {
                if let Some(target) = target {
                    // SAFETY: claimed, and woken once.
                    unsafe { here.wake(target) };
                }
                Poll::Ready(Ok(()))
            }
            Sent::Closed(value) | Sent::Full(value) => Poll::Ready(Err(SendError(value))),
        }
    }

    /// Begins to wait, or waits on, with this waker. (`self` is pinned: only `poll` calls this.)
    #[inline(never)]
    fn poll_waiting(&mut self, here: Here, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let at = &raw mut self.entry;
        let mut target = Some(Target::future(cx.waker().clone()));
        let tried = self.chan.locked(here, |state| {
            // SAFETY: locked; the entry is ours to look at, and to link while the future is pinned. Its slot is full unless
            // the state is DONE.
            unsafe {
                match (*at).state() {
                    DONE => Some(Sent::Done(None)),
                    CLOSED => Some(Sent::Closed((*at).take())),
                    LINKED => {
                        target = target.take().map(|new| (*at).replace_target(new));
                        None
                    }
                    _ => match state.try_send((*at).take()) {
                        Sent::Full(value) => {
                            (*at).put(value);
                            if let Some(target) = target.take() {
                                state.wait(Side::Send, at, target);
                            }
                            None
                        }
                        tried => Some(tried),
                    },
                }
            }
        });
        // As there: `target` is dropped last.
        match tried {
            Some(tried) => {
                self.entry.reset();
                self.sent(here, tried)
            }
            None => Poll::Pending,
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
            if self.entry.state() == LINKED {
                drop(self.chan.give_up(Here::get(), &raw mut self.entry, Side::Send));
            }
            if self.entry.state() != DONE {
                drop(self.entry.take());
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
