//! Sending and receiving as futures.
//!
//! The entry stands in the future (or the stream, or the sink) itself, pinned while it is linked;
//! dropping that unlinks it. A message that was handed to a receive that is then dropped goes to
//! the next receiver: nothing is lost. Between the two it is neither buffered nor received: if the
//! channel is closed meanwhile, another receiver finds nothing and hears `Closed`.

use super::chan::{Chan, ChanState, Received, Sent, Side};
use super::entry::{CLOSED, DONE, Entry, IDLE, LINKED};
use super::error::{RecvError, RecvTimeoutError, SendError, SendTimeoutError};
use crate::limit::Stop;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

/// A receive that may stand in line: what is linked. It knows no channel, so that it may stand
/// beside a borrowed one, in a future, or beside its owner, in a stream.
///
/// **Invariant.** Whoever has it calls all methods with the same channel, and `give_up` before it
/// goes, or the channel does.
pub(super) struct Receiving<T> {
    entry: Entry<T>,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the channel's lock, or by the holder; messages are Send.
unsafe impl<T: Send> Send for Receiving<T> {}
// SAFETY: nothing can be done with `&Receiving`.
unsafe impl<T: Send> Sync for Receiving<T> {}

impl<T> Receiving<T> {
    #[inline(always)]
    pub(super) fn new() -> Self {
        Receiving { entry: Entry::new(), _pinned: PhantomPinned }
    }

    /// Polled again after it was ready, it receives the next message. (What is done most often
    /// stands in the caller's code.)
    ///
    /// # Safety
    /// The invariant.
    #[inline(always)]
    pub(super) unsafe fn poll(
        self: Pin<&mut Self>,
        chan: &Chan<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<T, RecvError>> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        if this.entry.state() == IDLE {
            let Some(mut state) = chan.poll_lock() else { return rest(cx) };
            // Most often a message is there: without a look at the waker.
            if state.can_fast_recv() {
                // SAFETY: `can_fast_recv` has said so, under the same lock.
                return Poll::Ready(Ok(unsafe { state.fast_recv() }));
            }
        }
        this.poll_waiting(chan, cx)
    }

    /// Begins to wait, or waits on, with this waker. (`self` is pinned: only `poll` calls this.)
    #[inline(never)]
    fn poll_waiting(&mut self, chan: &Chan<T>, cx: &mut Context<'_>) -> Poll<Result<T, RecvError>> {
        match self.entry.state() {
            DONE => {
                self.entry.reset();
                // SAFETY: a message was handed over into the slot, and the entry is ours.
                return Poll::Ready(Ok(unsafe { self.entry.take() }));
            }
            CLOSED => {
                // Polled again, it looks anew: a message that was handed to another one may have
                // come back since.
                self.entry.reset();
                return Poll::Ready(Err(RecvError));
            }
            _ => {}
        }
        let caller = Caller::get();
        let at = &raw mut self.entry;
        let mut value = MaybeUninit::<T>::uninit();
        let slot = value.as_mut_ptr();
        // Cloned without the lock: wakers are user code. (By value from here to the list: in memory
        // it is written as two words, and read as one, for which the processor waits some 5 ns.)
        let waiter = Waiter::future(cx.waker());
        // SAFETY: locked; the entry is ours to look at, and to link while it is pinned. The slot
        // is empty, or holds a message if it is done. A waiter was claimed, and is woken once,
        // without the lock.
        unsafe {
            let (received, unused) = chan.locked(caller, |state| match (*at).state() {
                DONE => {
                    (*at).reset();
                    slot.copy_from_nonoverlapping((*at).slot(), 1);
                    (Received::Done(None), Some(waiter))
                }
                CLOSED => {
                    (*at).reset();
                    (Received::Closed, Some(waiter))
                }
                LINKED if on("waker-kept") => (Received::Empty, Some(waiter)),
                LINKED => (Received::Empty, Some((*at).replace_waiter(waiter))),
                _ => match state.try_recv(slot) {
                    Received::Empty => {
                        state.wait(Side::Receive, at, waiter);
                        (Received::Empty, None)
                    }
                    received => (received, Some(waiter)),
                },
            });
            // Discarded last, without the lock.
            let _unused = InHand::new(unused);
            match received {
                Received::Done(None) => {}
                Received::Done(Some(waiter)) => caller.wake(waiter),
                Received::Closed => return Poll::Ready(Err(RecvError)),
                Received::Empty => {
                    caller.note_await(WaitReason::Recv, ptr::from_ref(chan).cast());
                    return Poll::Pending;
                }
            }
            Poll::Ready(Ok(value.assume_init()))
        }
    }

    /// Its time is over: leaves the line, with the message that was handed over, or that is there
    /// now. Polled again, it receives the next message.
    ///
    /// # Safety
    /// The invariant.
    unsafe fn stop(self: Pin<&mut Self>, chan: &Chan<T>) -> Result<T, RecvTimeoutError> {
        let caller = Caller::get();
        // SAFETY: the entry is not moved.
        let at = &raw mut unsafe { self.get_unchecked_mut() }.entry;
        let mut value = MaybeUninit::<T>::uninit();
        let slot = value.as_mut_ptr();
        // SAFETY: our own entry. The slot is empty, or holds a message if it is done. A waiter was
        // claimed, and is woken once, without the lock.
        unsafe {
            let retry = |state: &mut ChanState<T>| match (*at).state() {
                DONE => {
                    (*at).reset();
                    slot.copy_from_nonoverlapping((*at).slot(), 1);
                    Received::Done(None)
                }
                CLOSED => Received::Closed,
                _ => state.try_recv(slot),
            };
            match chan.give_up_late(caller, at, Side::Receive, retry) {
                Received::Done(waiter) => waiter.into_iter().for_each(|waiter| caller.wake(waiter)),
                Received::Closed => return Err(RecvTimeoutError::Closed),
                Received::Empty => return Err(RecvTimeoutError::Timeout),
            }
            Ok(value.assume_init())
        }
    }

    /// Leaves the line. A message that was handed over goes to the next.
    ///
    /// # Safety
    /// The invariant. It is not polled afterwards.
    #[inline(always)]
    pub(super) unsafe fn give_up(&mut self, chan: &Chan<T>) {
        let state = self.entry.state();
        if state != IDLE && state != CLOSED {
            // SAFETY: the invariant holds for `chan`, and this is not polled afterwards (this
            // function's contract); an entry that is neither idle nor closed has stood in line.
            unsafe { self.leave_line(chan) };
        }
    }

    /// # Safety
    /// The invariant. It has stood in line, and is not polled afterwards.
    #[cold]
    #[inline(never)]
    unsafe fn leave_line(&mut self, chan: &Chan<T>) {
        let caller = Caller::get();
        caller.forget_await();
        // SAFETY: our own entry; afterwards nobody else knows it. If a message was handed over it
        // is ours.
        unsafe {
            let _target = chan.give_up(caller, &raw mut self.entry, Side::Receive);
            if self.entry.state() == DONE && !on("not-given-back") {
                chan.give_back(caller, self.entry.slot());
            }
        }
    }
}

/// A send that may stand in line, as [`Receiving`], with the same invariant: with a message, or
/// empty.
pub(super) struct Sending<T> {
    entry: Entry<T>,
    /// Is the message in the slot?
    full: bool,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the channel's lock, or by the holder; messages are Send.
unsafe impl<T: Send> Send for Sending<T> {}
// SAFETY: nothing can be done with `&Sending` but to ask whether it is full.
unsafe impl<T: Send> Sync for Sending<T> {}

impl<T> Sending<T> {
    #[inline(always)]
    fn new(value: T) -> Self {
        Sending { entry: Entry::with(value), full: true, _pinned: PhantomPinned }
    }

    pub(super) fn empty() -> Self {
        Sending { entry: Entry::new(), full: false, _pinned: PhantomPinned }
    }

    /// Has it a message that is not sent?
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The next message, into an empty one.
    pub(super) fn fill(self: Pin<&mut Self>, value: T) {
        assert!(!self.full, "the message before it is not sent");
        // SAFETY: nothing is moved; empty, it is in no list, and the slot is ours.
        unsafe {
            let this = self.get_unchecked_mut();
            this.entry.slot().write(value);
            this.full = true;
        }
    }

    /// # Safety
    /// The invariant.
    ///
    /// # Panics
    /// If it is empty: polled again after it was ready.
    #[inline(always)]
    pub(super) unsafe fn poll(
        self: Pin<&mut Self>,
        chan: &Chan<T>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), SendError<T>>> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        assert!(this.full, "a send that was done is polled again");
        if this.entry.state() == IDLE {
            let Some(mut state) = chan.poll_lock() else { return rest(cx) };
            // Most often there is room: without a look at the waker.
            // SAFETY: idle: the slot is full, and ours.
            if unsafe { state.fast_send_from(this.entry.slot()) } {
                this.full = false;
                return Poll::Ready(Ok(()));
            }
            // It is still in the slot.
        }
        this.poll_waiting(chan, cx)
    }

    /// Begins to wait, or waits on, with this waker. (`self` is pinned: only `poll` calls this.)
    #[inline(never)]
    fn poll_waiting(&mut self, chan: &Chan<T>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let caller = Caller::get();
        let at = &raw mut self.entry;
        // As there.
        let waiter = Waiter::future(cx.waker());
        // SAFETY: locked; the entry is ours to look at, and to link while it is pinned. Its slot is
        // full unless it is done. A waiter was claimed, and is woken once, without the lock.
        unsafe {
            let (sent, unused) = chan.locked(caller, |state| match (*at).state() {
                DONE => (Sent::Done(None), Some(waiter)),
                CLOSED => (Sent::Closed, Some(waiter)),
                LINKED => (Sent::Full, Some((*at).replace_waiter(waiter))),
                _ => match state.try_send((*at).slot()) {
                    Sent::Full => {
                        state.wait(Side::Send, at, waiter);
                        (Sent::Full, None)
                    }
                    sent => (sent, Some(waiter)),
                },
            });
            let _unused = InHand::new(unused);
            if let Sent::Full = sent {
                caller.note_await(WaitReason::Send, ptr::from_ref(chan).cast());
                return Poll::Pending;
            }
            self.full = false;
            self.entry.reset();
            match sent {
                Sent::Done(Some(waiter)) => caller.wake(waiter),
                Sent::Dropped => self.entry.slot().drop_in_place(),
                Sent::Closed => return Poll::Ready(Err(SendError(self.entry.take()))),
                _ => {}
            }
            Poll::Ready(Ok(()))
        }
    }

    /// Its time is over: leaves the line, and the message comes back unless it was taken, or can be
    /// sent now. It is empty afterwards.
    ///
    /// # Safety
    /// The invariant; it is full.
    unsafe fn stop(self: Pin<&mut Self>, chan: &Chan<T>) -> Result<(), SendTimeoutError<T>> {
        let caller = Caller::get();
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let at = &raw mut this.entry;
        // SAFETY: our own entry, whose slot is full unless it is done. A waiter was claimed, and is
        // woken once, without the lock.
        unsafe {
            let sent = chan.give_up_late(caller, at, Side::Send, |state| match (*at).state() {
                DONE => Sent::Done(None),
                CLOSED => Sent::Closed,
                _ => state.try_send((*at).slot()),
            });
            this.full = false;
            this.entry.reset();
            match sent {
                Sent::Done(waiter) => waiter.into_iter().for_each(|waiter| caller.wake(waiter)),
                Sent::Dropped => this.entry.slot().drop_in_place(),
                Sent::Closed => return Err(SendTimeoutError::Closed(this.entry.take())),
                Sent::Full => return Err(SendTimeoutError::Timeout(this.entry.take())),
            }
            Ok(())
        }
    }

    /// Leaves the line, and drops the message unless it was taken.
    ///
    /// # Safety
    /// The invariant. It is not polled afterwards.
    #[inline(always)]
    pub(super) unsafe fn give_up(&mut self, chan: &Chan<T>) {
        if self.full {
            // SAFETY: the invariant holds for `chan`, and this is not polled afterwards (this
            // function's contract); it is full.
            unsafe { self.leave_line(chan) };
        }
    }

    /// # Safety
    /// The invariant. It is full, and is not polled afterwards.
    #[cold]
    #[inline(never)]
    unsafe fn leave_line(&mut self, chan: &Chan<T>) {
        let caller = Caller::get();
        caller.forget_await();
        // SAFETY: our own entry; afterwards nobody else knows it. The message is still in the slot
        // unless it was taken.
        unsafe {
            let linked = self.entry.state() == LINKED;
            let _target = linked.then(|| chan.give_up(caller, &raw mut self.entry, Side::Send));
            if self.entry.state() != DONE {
                self.entry.slot().drop_in_place();
            }
        }
    }
}

/// Of a future's waiter until it is in a list.
pub(super) const IN_HAND: &str = "the target is here until it is in a list";

/// The budget is used up: the future is pending, and its task goes behind the others.
#[cold]
#[inline(never)]
fn rest<T>(cx: &Context<'_>) -> Poll<T> {
    let may_go_on = Caller::get().poll_spend(cx.waker());
    debug_assert!(!may_go_on);
    Poll::Pending
}

/// What [`Receiver::recv_async`](super::Receiver::recv_async) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct RecvFuture<'a, T> {
    chan: &'a Chan<T>,
    receiving: Receiving<T>,
}

impl<'a, T> RecvFuture<'a, T> {
    #[inline(always)]
    pub(super) fn new(chan: &'a Chan<T>) -> Self {
        RecvFuture { chan, receiving: Receiving::new() }
    }
}

impl<T> Future for RecvFuture<'_, T> {
    type Output = Result<T, RecvError>;

    /// Polled again after it was ready, it receives the next message.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the part is pinned as the whole; its channel is ours, to our end.
        unsafe {
            let this = self.get_unchecked_mut();
            Pin::new_unchecked(&mut this.receiving).poll(this.chan, cx)
        }
    }
}

impl<T> Stop for RecvFuture<'_, T> {
    type InTime = Result<T, RecvTimeoutError>;
    fn in_time(output: Result<T, RecvError>) -> Self::InTime {
        output.map_err(|RecvError| RecvTimeoutError::Closed)
    }
    fn stop(self: Pin<&mut Self>) -> Self::InTime {
        // SAFETY: the part is pinned as the whole; its channel is ours, to our end.
        unsafe {
            let this = self.get_unchecked_mut();
            Pin::new_unchecked(&mut this.receiving).stop(this.chan)
        }
    }
}

impl<T> Drop for RecvFuture<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: its channel is ours, to our end, and it is not polled any more.
        unsafe { self.receiving.give_up(self.chan) };
    }
}

/// What [`Sender::send_async`](super::Sender::send_async) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct SendFuture<'a, T> {
    chan: &'a Chan<T>,
    sending: Sending<T>,
}

impl<'a, T> SendFuture<'a, T> {
    #[inline(always)]
    pub(super) fn new(chan: &'a Chan<T>, value: T) -> Self {
        SendFuture { chan, sending: Sending::new(value) }
    }
}

impl<T> Future for SendFuture<'_, T> {
    type Output = Result<(), SendError<T>>;

    /// # Panics
    /// If polled again after it was ready.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the part is pinned as the whole; its channel is ours, to our end.
        unsafe {
            let this = self.get_unchecked_mut();
            Pin::new_unchecked(&mut this.sending).poll(this.chan, cx)
        }
    }
}

impl<T> Stop for SendFuture<'_, T> {
    type InTime = Result<(), SendTimeoutError<T>>;
    fn in_time(output: Result<(), SendError<T>>) -> Self::InTime {
        output.map_err(|SendError(value)| SendTimeoutError::Closed(value))
    }
    fn stop(self: Pin<&mut Self>) -> Self::InTime {
        // SAFETY: the part is pinned as the whole; its channel is ours, to our end. Pending, it is
        // full.
        unsafe {
            let this = self.get_unchecked_mut();
            Pin::new_unchecked(&mut this.sending).stop(this.chan)
        }
    }
}

impl<T> Drop for SendFuture<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: its channel is ours, to our end, and it is not polled any more.
        unsafe { self.sending.give_up(self.chan) };
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
