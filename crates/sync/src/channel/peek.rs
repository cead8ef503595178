//! Receivers that peek at the first message before they take it, or leave it.
//!
//! The message is *lent* to the peeker: moved into its frame or its future ([`super::chan`] has the
//! protocol), so that the closure runs without the channel's lock, and may panic, wait or use the
//! channel.

use super::Receiver;
use super::blocked::BlockedEnd;
use super::chan::{Chan, Received, Side};
use super::entry::{CLOSED, DONE, Entry, IDLE, PEEKS};
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::future::IN_HAND;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, InHand, Wait, WaitReason, Waiter};
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A message that was lent. It goes back when this is dropped, also by a panic of the closure.
struct Peeked<'a, T> {
    chan: &'a Chan<T>,
    slot: *mut T,
}

impl<'a, T> Peeked<'a, T> {
    /// # Safety
    /// The channel has lent the message in `slot`, which stays there, and is not used otherwise,
    /// as long as this lives.
    unsafe fn new(chan: &'a Chan<T>, slot: *mut T) -> Self {
        Peeked { chan, slot }
    }

    /// Shows it to the closure, and takes it if that says so.
    fn decide<R>(self, decide: impl FnOnce(&T) -> (bool, R)) -> (Option<T>, R) {
        // SAFETY: the message is in `slot`, and nobody else uses it (the contract of `new`).
        let (take, result) = decide(unsafe { &*self.slot });
        if !take {
            drop(self);
            return (None, result);
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: read out once: what is taken does not go back. Lent to us; ended once.
        unsafe {
            let message = this.slot.read();
            this.chan.end_peek(Caller::get(), this.slot, true);
            (Some(message), result)
        }
    }
}

impl<T> Drop for Peeked<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the message in `slot` was lent to this, and the peek is ended once, here.
        unsafe { self.chan.end_peek(Caller::get(), self.slot, false) };
    }
}

/// Always takes it, or never, or as the closure says: what all forms are made of.
fn only<T, R>(f: impl FnOnce(&T) -> R) -> impl FnOnce(&T) -> (bool, R) {
    |message| (false, f(message))
}
fn take_if<T>(wanted: impl FnOnce(&T) -> bool) -> impl FnOnce(&T) -> (bool, ()) {
    |message| (wanted(message), ())
}

impl<T> Receiver<T> {
    /// Looks at the next message, and receives it only if it is `wanted`; otherwise it stays the
    /// first (`None`).
    ///
    /// The closure runs in the calling task, without any lock, and may do what it likes: wait, too.
    /// Meanwhile the message is *lent* to it. Sends go on as long as there is room (the message has
    /// its place still). Nobody receives: who comes to receive, or to peek, stands in line, and
    /// `try_recv` finds nothing; for no later message is received before this one. So it is also
    /// how to hold the receiving side of a channel for a while. The closure itself must not wait to
    /// receive from this channel: that would be for ever.
    ///
    /// At a [rendezvous](super::rendezvous) peeking ends the send. A message that is not taken
    /// stays in the channel, as one that a cancelled receive gives back.
    ///
    /// # Blocking
    /// As [`recv`](Self::recv): while the channel is empty, in line with those that receive; and
    /// while somebody else peeks.
    ///
    /// # Cancellation
    /// A task that is cancelled while it waits unwinds, and has taken no message; cancelled at a
    /// wait within the closure, it unwinds as by a panic.
    ///
    /// # Errors
    /// The channel is closed, and nothing is left in it.
    ///
    /// # Panics
    /// If the closure does: the message stays where it was. If it must wait and there is no memory
    /// for a stack.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::unbounded;
    /// let (tx, rx) = unbounded();
    /// [2, 4, 5].into_iter().for_each(|n| tx.send(n).unwrap());
    /// let mut even = Vec::new();
    /// while let Some(n) = rx.recv_if(|n| n % 2 == 0).unwrap() {
    ///     even.push(n);
    /// }
    /// assert_eq!((even, rx.recv()), (vec![2, 4], Ok(5)));
    /// ```
    pub fn recv_if(&self, wanted: impl FnOnce(&T) -> bool) -> Result<Option<T>, RecvError> {
        self.peek_then(take_if(wanted)).map(|(message, ())| message)
    }

    /// As [`recv_if`](Self::recv_if), only if a message is there.
    ///
    /// # Blocking
    /// It does not wait for a message. In a closure each 256th attempt in a row that finds none
    /// lets others go first, as that of [`try_recv`](Self::try_recv).
    ///
    /// # Errors
    /// Nothing is there now, somebody else peeks at it, or the channel is closed and nothing is
    /// left in it.
    pub fn try_recv_if(&self, wanted: impl FnOnce(&T) -> bool) -> Result<Option<T>, TryRecvError> {
        self.try_peek_then(take_if(wanted)).map(|(message, ())| message)
    }

    /// As [`recv_if`](Self::recv_if), for at most `timeout`. (The closure may take longer.)
    ///
    /// # Errors
    /// The time has passed before there was a message to peek at; or the channel is closed and
    /// nothing is left in it.
    pub fn recv_if_timeout(
        &self,
        timeout: Duration,
        wanted: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, RecvTimeoutError> {
        self.recv_if_deadline(time::now() + timeout, wanted)
    }

    /// As [`recv_if`](Self::recv_if), until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`recv_if_timeout`](Self::recv_if_timeout).
    pub fn recv_if_deadline(
        &self,
        deadline: Instant,
        wanted: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>, RecvTimeoutError> {
        self.peek_then_until(Some(deadline), take_if(wanted)).map(|(message, ())| message)
    }

    /// A future of [`recv_if`](Self::recv_if). The closure runs when it is polled.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing. Once polled it stands in line; when the
    /// message is lent to it, nobody receives any until it is polled or dropped.
    pub fn recv_if_async<F>(&self, wanted: F) -> impl Future<Output = Result<Option<T>, RecvError>>
    where
        F: FnOnce(&T) -> bool,
    {
        let peek = PeekThen::new(self.chan(), take_if(wanted));
        async move { peek.await.map(|(message, ())| message) }
    }

    /// Looks at the next message, and leaves it where it is; what holds of
    /// [`recv_if`](Self::recv_if) holds here.
    ///
    /// # Errors
    /// The channel is closed, and nothing is left in it.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::unbounded();
    /// tx.send("a long message".to_string()).unwrap();
    /// assert_eq!(rx.peek_with(|message| message.len()), Ok(14));
    /// assert_eq!(rx.len(), 1);
    /// ```
    pub fn peek_with<R>(&self, f: impl FnOnce(&T) -> R) -> Result<R, RecvError> {
        self.peek_then(only(f)).map(|(_, result)| result)
    }

    /// As [`peek_with`](Self::peek_with), only if a message is there.
    ///
    /// # Blocking
    /// As [`try_recv_if`](Self::try_recv_if).
    ///
    /// # Errors
    /// As [`try_recv_if`](Self::try_recv_if).
    pub fn try_peek_with<R>(&self, f: impl FnOnce(&T) -> R) -> Result<R, TryRecvError> {
        self.try_peek_then(only(f)).map(|(_, result)| result)
    }

    /// As [`peek_with`](Self::peek_with), for at most `timeout`.
    ///
    /// # Errors
    /// As [`recv_if_timeout`](Self::recv_if_timeout).
    pub fn peek_with_timeout<R>(&self, timeout: Duration, f: impl FnOnce(&T) -> R) -> Result<R, RecvTimeoutError> {
        self.peek_with_deadline(time::now() + timeout, f)
    }

    /// As [`peek_with`](Self::peek_with), until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`recv_if_timeout`](Self::recv_if_timeout).
    pub fn peek_with_deadline<R>(&self, deadline: Instant, f: impl FnOnce(&T) -> R) -> Result<R, RecvTimeoutError> {
        self.peek_then_until(Some(deadline), only(f)).map(|(_, result)| result)
    }

    /// A future of [`peek_with`](Self::peek_with).
    ///
    /// # Cancellation
    /// As of [`recv_if_async`](Self::recv_if_async).
    pub fn peek_with_async<R, F>(&self, f: F) -> impl Future<Output = Result<R, RecvError>>
    where
        F: FnOnce(&T) -> R,
    {
        let peek = PeekThen::new(self.chan(), only(f));
        async move { peek.await.map(|(_, result)| result) }
    }

    /// A copy of the next message, which stays where it is: [`peek_with`](Self::peek_with) and
    /// `clone`.
    ///
    /// # Errors
    /// The channel is closed, and nothing is left in it.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::bounded(1);
    /// tx.send(7).unwrap();
    /// assert_eq!((rx.peek(), rx.peek(), rx.recv()), (Ok(7), Ok(7), Ok(7)));
    /// ```
    pub fn peek(&self) -> Result<T, RecvError>
    where
        T: Clone,
    {
        self.peek_with(T::clone)
    }

    /// As [`peek`](Self::peek), only if a message is there.
    ///
    /// # Blocking
    /// As [`try_recv_if`](Self::try_recv_if).
    ///
    /// # Errors
    /// As [`try_recv_if`](Self::try_recv_if).
    pub fn try_peek(&self) -> Result<T, TryRecvError>
    where
        T: Clone,
    {
        self.try_peek_with(T::clone)
    }

    /// As [`peek`](Self::peek), for at most `timeout`.
    ///
    /// # Errors
    /// As [`recv_if_timeout`](Self::recv_if_timeout).
    pub fn peek_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError>
    where
        T: Clone,
    {
        self.peek_with_timeout(timeout, T::clone)
    }

    /// As [`peek`](Self::peek), until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`recv_if_timeout`](Self::recv_if_timeout).
    pub fn peek_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError>
    where
        T: Clone,
    {
        self.peek_with_deadline(deadline, T::clone)
    }

    /// A future of [`peek`](Self::peek).
    ///
    /// # Cancellation
    /// As of [`recv_if_async`](Self::recv_if_async).
    pub fn peek_async(&self) -> impl Future<Output = Result<T, RecvError>>
    where
        T: Clone,
    {
        self.peek_with_async(T::clone)
    }

    /// Waits until there is a message, and does not take it. (Another receiver may be faster then.)
    ///
    /// # Blocking
    /// As [`recv`](Self::recv): in line with those that receive.
    ///
    /// # Errors
    /// The channel is closed, and nothing is left in it.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::bounded(1);
    /// myriad::spawn(move || tx.send(1));
    /// rx.wait_ready().unwrap();
    /// assert_eq!(rx.len(), 1, "it is still there");
    /// ```
    pub fn wait_ready(&self) -> Result<(), RecvError> {
        self.peek_with(|_| ())
    }

    /// As [`wait_ready`](Self::wait_ready), for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed; or the channel is closed and nothing is left in it.
    pub fn wait_ready_timeout(&self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        self.peek_with_timeout(timeout, |_| ())
    }

    /// As [`wait_ready`](Self::wait_ready), until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`wait_ready_timeout`](Self::wait_ready_timeout).
    pub fn wait_ready_deadline(&self, deadline: Instant) -> Result<(), RecvTimeoutError> {
        self.peek_with_deadline(deadline, |_| ())
    }

    /// A future of [`wait_ready`](Self::wait_ready).
    ///
    /// # Cancellation
    /// As of [`recv_if_async`](Self::recv_if_async).
    pub fn wait_ready_async(&self) -> impl Future<Output = Result<(), RecvError>> {
        self.peek_with_async(|_| ())
    }

    fn peek_then<R>(&self, decide: impl FnOnce(&T) -> (bool, R)) -> Result<(Option<T>, R), RecvError> {
        self.peek_then_until(None, decide).map_err(|_| RecvError)
    }

    fn try_peek_then<R>(&self, decide: impl FnOnce(&T) -> (bool, R)) -> Result<(Option<T>, R), TryRecvError> {
        let (caller, chan) = (Caller::get(), self.chan());
        let mut message = MaybeUninit::uninit();
        let slot = message.as_mut_ptr();
        // SAFETY: the slot is empty, in this frame, and holds the message that is lent if it is
        // done.
        unsafe {
            match chan.locked(caller, |state| state.try_lend(slot)) {
                Received::Done(waiter) => Ok(lent(caller, chan, slot, waiter).decide(decide)),
                Received::Closed => {
                    caller.spend_in_vain();
                    Err(TryRecvError::Closed)
                }
                Received::Empty => {
                    caller.spend_in_vain();
                    Err(TryRecvError::Empty)
                }
            }
        }
    }

    fn peek_then_until<R>(
        &self,
        deadline: Option<Instant>,
        decide: impl FnOnce(&T) -> (bool, R),
    ) -> Result<(Option<T>, R), RecvTimeoutError> {
        let (caller, chan) = (Caller::get(), self.chan());
        caller.spend();
        let blocked = BlockedEnd::until(deadline.is_some(), caller, chan, Side::Receive);
        let (wait, entry, at) = (&blocked.wait, &blocked.entry, blocked.at());
        let prepared = wait.prepare();
        // SAFETY: the entry stands in this frame until the wait is over, and then, ours again,
        // until the peek is. The wait is prepared and published, of the kind that it is. The slot
        // is empty, and holds the message that is lent if it is done.
        unsafe {
            let received = chan.locked(caller, |state| {
                let received = state.try_lend(entry.slot());
                if let (Received::Empty, Ok(())) = (&received, &prepared) {
                    state.wait_to_peek(at, wait.waiter());
                }
                received
            });
            match (received, prepared) {
                (Received::Done(waiter), _) => return Ok(lent(caller, chan, entry.slot(), waiter).decide(decide)),
                (Received::Closed, _) => return Err(RecvTimeoutError::Closed),
                (Received::Empty, Err(error)) => panic!("{error}"),
                (Received::Empty, Ok(())) => {}
            }
            if !Wait::block_by(blocked.whole(), deadline) {
                if wait.was_cancelled() {
                    drop(chan.give_up(caller, at, Side::Receive));
                    wait.unwind_if_cancelled();
                }
                return match chan.give_up_late(caller, at, Side::Receive, |state| state.try_lend(entry.slot())) {
                    Received::Done(waiter) => Ok(lent(caller, chan, entry.slot(), waiter).decide(decide)),
                    Received::Closed => Err(RecvTimeoutError::Closed),
                    Received::Empty => Err(RecvTimeoutError::Timeout),
                };
            }
            if entry.state() != DONE {
                wait.unwind_if_cancelled();
                return Err(RecvTimeoutError::Closed);
            }
            Ok(Peeked::new(chan, entry.slot()).decide(decide))
        }
    }
}

/// The message was lent just now; a sender is to be woken.
///
/// # Safety
/// The channel has lent the message in `slot`, which stays there, and is not used otherwise, as
/// long as the result lives. The waiter, `sender`, was claimed, and is woken once, without the
/// lock.
unsafe fn lent<T>(caller: Caller, chan: &Chan<T>, slot: *mut T, sender: Option<Waiter>) -> Peeked<'_, T> {
    // SAFETY: the message in `slot` is lent, and `sender` was claimed (this function's contract);
    // `sender` is woken once, here.
    unsafe {
        let peeked = Peeked::new(chan, slot);
        if let Some(waiter) = sender {
            caller.wake(waiter);
        }
        peeked
    }
}

/// Waits for a message, and runs the closure when it is polled.
struct PeekThen<'a, T, F> {
    chan: &'a Chan<T>,
    entry: Entry<T>,
    decide: Option<F>,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the channel's lock, or by the holder; messages are Send.
unsafe impl<T: Send, F: Send> Send for PeekThen<'_, T, F> {}
// SAFETY: nothing can be done with `&PeekThen`.
unsafe impl<T: Send, F> Sync for PeekThen<'_, T, F> {}

impl<'a, T, F> PeekThen<'a, T, F> {
    fn new(chan: &'a Chan<T>, decide: F) -> Self {
        PeekThen { chan, entry: Entry::new(), decide: Some(decide), _pinned: PhantomPinned }
    }
}

impl<T, R, F: FnOnce(&T) -> (bool, R)> Future for PeekThen<'_, T, F> {
    type Output = Result<(Option<T>, R), RecvError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let (caller, chan, at) = (Caller::get(), this.chan, &raw mut this.entry);
        if this.entry.state() == IDLE && !caller.poll_spend(cx.waker()) {
            return Poll::Pending;
        }
        // Cloned, and discarded when it is not needed, without the lock: wakers are user code.
        let mut waiter = InHand::future(cx.waker());
        // SAFETY: locked; the entry is ours to look at, and to link while it is pinned; its slot
        // holds the message that is lent if it is done, until the peek is over.
        unsafe {
            let received = chan.locked(caller, |state| match (*at).state() {
                DONE => Received::Done(None),
                CLOSED => Received::Closed,
                PEEKS => {
                    *waiter = Waiter::take(&mut waiter).map(|new| (*at).replace_waiter(new));
                    Received::Empty
                }
                _ => {
                    let received = state.try_lend((*at).slot());
                    if matches!(received, Received::Empty) {
                        state.wait_to_peek(at, Waiter::take(&mut waiter).expect(IN_HAND));
                    }
                    received
                }
            });
            match received {
                Received::Empty => {
                    caller.note_await(WaitReason::Recv, std::ptr::from_ref(chan).cast());
                    Poll::Pending
                }
                Received::Closed => Poll::Ready(Err(RecvError)),
                Received::Done(sender) => {
                    // No wait any more that the drop would end: that of `Peeked` does.
                    (*at).reset();
                    let peeked = lent(caller, chan, (*at).slot(), sender);
                    let Some(decide) = this.decide.take() else { panic!("a peek that was done is polled again") };
                    Poll::Ready(Ok(peeked.decide(decide)))
                }
            }
        }
    }
}

impl<T, F> Drop for PeekThen<'_, T, F> {
    fn drop(&mut self) {
        let state = self.entry.state();
        if state == IDLE || state == CLOSED {
            return;
        }
        let (caller, at) = (Caller::get(), &raw mut self.entry);
        caller.forget_await();
        // SAFETY: our own entry; afterwards nobody else knows it. If the message was lent it is in
        // the slot.
        unsafe {
            let _target = self.chan.give_up(caller, at, Side::Receive);
            if (*at).state() == DONE && !on("loan-kept") {
                drop(Peeked::new(self.chan, (*at).slot()));
            }
        }
    }
}
