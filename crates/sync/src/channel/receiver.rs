//! The receiving end.

use super::blocked::BlockedEnd;
use super::chan::{Chan, Locked, Received, Side, Waited};
use super::ends::Share;
use super::entry::DONE;
use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use super::future::RecvFuture;
use super::look::Look;
use crate::limit::Limited;
use myriad_core::engine::wait::{Caller, Wait};
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// Receives messages. Clone it for more receivers, each message goes to one of them; when all are
/// dropped, the channel closes, and what is buffered is dropped with it.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::bounded(4);
/// myriad::spawn(move || (0..3).try_for_each(|i| tx.send(i)));
/// assert_eq!(rx.recv(), Ok(0));
/// assert_eq!(rx.into_iter().collect::<Vec<_>>(), [1, 2]);
/// ```
pub struct Receiver<T> {
    share: Share<T>,
}

/// What came of a receive without a time limit.
enum Came<T> {
    Message(T),
    Closed,
    /// A cancellation. It arrives in the caller's own frame.
    Cancelled,
}

impl<T> Receiver<T> {
    pub(super) fn new(share: Share<T>) -> Receiver<T> {
        Receiver { share }
    }

    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
        self.share.chan()
    }

    pub(super) fn share(&self) -> &Share<T> {
        &self.share
    }

    /// Receives the next message.
    ///
    /// # Blocking
    /// While the channel is empty. A send or a close wakes it; the calling task is set aside
    /// meanwhile, a foreign thread sleeps. A task that has sent or received 256 messages without
    /// blocking lets others run.
    ///
    /// # Cancellation
    /// A task that is cancelled while it waits unwinds, and has taken no message.
    ///
    /// # Errors
    /// The channel is closed, and nothing is left in it.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    // Inlined with the switch to another stack: a function that the processor enters for one task
    // and leaves for another makes it predict the wrong return, 6 ns each. Not unoptimised: there
    // each call would add ten messages to the frame.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn recv(&self) -> Result<T, RecvError> {
        let caller = Caller::get();
        caller.spend();
        let mut state = self.chan().lock(caller);
        if state.can_fast_recv() {
            // SAFETY: `can_fast_recv` has said so, under the same lock.
            return Ok(unsafe { state.fast_recv() });
        }
        let came = if state.has_nothing() && caller.is_prepared() {
            Self::recv_blocking(caller, self.chan(), state)
        } else {
            self.recv_slow(caller, state)
        };
        match came {
            Came::Message(value) => Ok(value),
            Came::Closed => Err(RecvError),
            Came::Cancelled => Wait::unwind_cancelled(),
        }
    }

    #[inline(never)]
    fn recv_slow<'a>(&'a self, caller: Caller, mut state: Locked<'a, T>) -> Came<T> {
        let mut value = MaybeUninit::uninit();
        // SAFETY: the slot is empty, or holds a message if it is done. A waiter was claimed, and
        // is woken once, without the lock.
        unsafe {
            match state.try_recv(value.as_mut_ptr()) {
                Received::Done(None) => {}
                Received::Done(Some(waiter)) => {
                    drop(state);
                    caller.wake(waiter);
                }
                Received::Closed => return Came::Closed,
                Received::Empty => {
                    let mut look = Look::new(caller, None);
                    if !state.looks_again(&mut look, Side::Receive) && !caller.is_worker() {
                        return Self::recv_blocking(caller, self.chan(), state);
                    }
                    drop(state);
                    match self.wait(caller, None, look, value.as_mut_ptr()) {
                        Waited::Done => {}
                        Waited::Cancelled => return Came::Cancelled,
                        Waited::Closed | Waited::Timeout => return Came::Closed,
                    }
                }
            }
            Came::Message(value.assume_init())
        }
    }

    /// The channel, locked, was found empty, and a wait can begin.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn recv_blocking(caller: Caller, chan: &Chan<T>, mut state: Locked<'_, T>) -> Came<T> {
        let blocked = BlockedEnd::new(caller, chan, Side::Receive);
        // SAFETY: the entry stands in this frame until the wait is over; it is prepared, and
        // published before the lock goes. Afterwards the entry is ours again.
        unsafe {
            state.wait(Side::Receive, blocked.at(), blocked.wait.waiter());
            drop(state);
            Wait::block(blocked.whole());
            if blocked.entry.state() == DONE {
                Came::Message(blocked.entry.take())
            } else if blocked.wait.was_cancelled() {
                Came::Cancelled
            } else {
                Came::Closed
            }
        }
    }

    /// Receives a message if one is there.
    ///
    /// # Blocking
    /// It waits for nothing. But in a closure each 256th attempt in a row that fails lets others go
    /// first, as [`yield_now`](myriad_core::yield_now) does, so that who tries again and again does
    /// not keep a worker from those who would send. (Not while a panic unwinds, nor in
    /// [`keep_thread`](myriad_core::task::keep_thread); and not in a future, which is to wait by
    /// [`recv_async`](Self::recv_async).) No cancellation is found there.
    ///
    /// # Errors
    /// Nothing is there now (or somebody [peeks](Self::recv_if) at the first message, before which
    /// nobody receives a later one), or the channel is closed and nothing is left in it.
    #[inline]
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        let caller = Caller::get();
        let mut state = self.chan().lock(caller);
        if state.can_fast_recv() {
            // SAFETY: `can_fast_recv` has said so, under the same lock.
            return Ok(unsafe { state.fast_recv() });
        }
        if state.has_nothing() {
            drop(state);
            caller.spend_in_vain();
            return Err(TryRecvError::Empty);
        }
        self.try_recv_slow(caller, state)
    }

    #[inline(never)]
    fn try_recv_slow<'a>(&'a self, caller: Caller, mut state: Locked<'a, T>) -> Result<T, TryRecvError> {
        let mut value = MaybeUninit::uninit();
        let slot = value.as_mut_ptr();
        // SAFETY: the slot is empty, or holds a message if it is done. A waiter was claimed, and
        // is woken once, without the lock.
        unsafe {
            let received = state.try_recv(slot);
            drop(state);
            match received {
                Received::Done(None) => {}
                Received::Done(Some(waiter)) => caller.wake(waiter),
                Received::Closed => {
                    caller.spend_in_vain();
                    return Err(TryRecvError::Closed);
                }
                Received::Empty => {
                    caller.spend_in_vain();
                    return Err(TryRecvError::Empty);
                }
            }
            Ok(value.assume_init())
        }
    }

    /// Receives the next message, and waits for at most `timeout`.
    ///
    /// # Blocking
    /// As [`recv`](Self::recv), up to the time limit.
    ///
    /// # Errors
    /// The time has passed, and no message was taken; or the channel is closed and nothing is left
    /// in it.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        self.recv_deadline(time::now() + timeout)
    }

    /// Receives the next message, and waits until `deadline` at the latest.
    ///
    /// # Blocking
    /// As [`recv`](Self::recv), up to the deadline.
    ///
    /// # Errors
    /// As [`recv_timeout`](Self::recv_timeout).
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        let caller = Caller::get();
        caller.spend();
        let mut value = MaybeUninit::uninit();
        // SAFETY: the slot is empty, or holds a message if it is done.
        unsafe {
            match self.wait(caller, Some(deadline), Look::new(caller, Some(deadline)), value.as_mut_ptr()) {
                Waited::Done => Ok(value.assume_init()),
                Waited::Timeout => Err(RecvTimeoutError::Timeout),
                Waited::Closed => Err(RecvTimeoutError::Closed),
                Waited::Cancelled => Wait::unwind_cancelled(),
            }
        }
    }

    /// A future that receives the next message.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing: a message that was just handed to it goes
    /// to the next receiver (which may have received later ones already), or back before all that
    /// are buffered.
    ///
    /// *A pending future may hold a message: poll it or drop it.* Once polled it stands in line,
    /// and the message that comes when it is first there is its own, although it does not know that
    /// before it is polled again. As long as it is neither polled nor dropped (for ever, if it is
    /// forgotten) nobody else receives that message. So a loop that keeps such a future, and waits
    /// for something else by `select_async!`, has to come back to it.
    #[inline]
    pub fn recv_async(&self) -> RecvFuture<'_, T> {
        RecvFuture::new(self.chan())
    }

    /// A future that receives the next message, for at most `timeout` from this call.
    ///
    /// It is exact, as [`recv_timeout`](Self::recv_timeout) and unlike
    /// [`timeout_async`](myriad_core::time::timeout_async): when it says that the time has passed
    /// no message was there at a moment since then.
    ///
    /// # Cancellation
    /// As of [`recv_async`](Self::recv_async).
    ///
    /// # Errors
    /// As of [`recv_timeout`](Self::recv_timeout).
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::{RecvTimeoutError, bounded};
    /// use std::time::Duration;
    /// let (tx, rx) = bounded(1);
    /// let late = rx.recv_timeout_async(Duration::from_millis(1));
    /// assert_eq!(myriad::block_on(late), Err(RecvTimeoutError::Timeout));
    /// tx.send(7).unwrap();
    /// assert_eq!(myriad::block_on(rx.recv_timeout_async(Duration::ZERO)), Ok(7));
    /// ```
    pub fn recv_timeout_async(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<T, RecvTimeoutError>> + use<'_, T> {
        self.recv_deadline_async(time::now() + timeout)
    }

    /// As [`recv_timeout_async`](Self::recv_timeout_async), until `deadline`.
    ///
    /// # Cancellation
    /// As of [`recv_async`](Self::recv_async).
    ///
    /// # Errors
    /// As of [`recv_timeout`](Self::recv_timeout).
    pub fn recv_deadline_async(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = Result<T, RecvTimeoutError>> + use<'_, T> {
        Limited::new(self.recv_async(), deadline)
    }

    /// Receives, and waits if it must.
    ///
    /// # Safety
    /// `slot` is valid, and empty; a message is moved in if it is done.
    unsafe fn wait(&self, caller: Caller, deadline: Option<Instant>, mut look: Look, slot: *mut T) -> Waited {
        let blocked = BlockedEnd::until(deadline.is_some(), caller, self.chan(), Side::Receive);
        let (wait, entry, at) = (&blocked.wait, &blocked.entry, blocked.at());
        let prepared = wait.prepare();
        // SAFETY: `slot` is valid and empty (this function's contract). The entry stands in this
        // frame until the wait is over. A waiter was claimed, and is woken once. The wait is
        // prepared and published, of the kind that it is; when it is over the entry is ours again.
        unsafe {
            let received = loop {
                look.pause();
                let received = self.chan().locked(caller, |state| {
                    state.has_looked(&mut look, Side::Receive);
                    let received = state.try_recv(slot);
                    if let (Received::Empty, Ok(())) = (&received, &prepared) {
                        if state.looks_again(&mut look, Side::Receive) {
                            return None;
                        }
                        state.wait(Side::Receive, at, wait.waiter());
                    }
                    Some(received)
                });
                if let Some(received) = received {
                    break received;
                }
            };
            match (received, prepared) {
                (Received::Done(None), _) => return Waited::Done,
                (Received::Done(Some(waiter)), _) => {
                    caller.wake(waiter);
                    return Waited::Done;
                }
                (Received::Closed, _) => return Waited::Closed,
                (Received::Empty, Err(error)) => panic!("{error}"),
                (Received::Empty, Ok(())) => {}
            }
            if !Wait::block_by(blocked.whole(), deadline) {
                if wait.was_cancelled() {
                    drop(self.chan().give_up(caller, at, Side::Receive));
                    return Waited::Cancelled;
                }
                return match self.chan().give_up_late(caller, at, Side::Receive, |state| state.try_recv(slot)) {
                    Received::Done(waiter) => {
                        waiter.into_iter().for_each(|waiter| caller.wake(waiter));
                        Waited::Done
                    }
                    Received::Closed => Waited::Closed,
                    Received::Empty => Waited::Timeout,
                };
            }
            if entry.state() != DONE {
                return if wait.was_cancelled() { Waited::Cancelled } else { Waited::Closed };
            }
            slot.copy_from_nonoverlapping(entry.slot(), 1);
            Waited::Done
        }
    }

    /// Closes the channel for all; see [`Sender::close`](super::Sender::close). True: it was open.
    pub fn close(&self) -> bool {
        self.chan().close()
    }

    /// Is the channel closed? (Something may still be buffered.)
    pub fn is_closed(&self) -> bool {
        self.chan().is_closed()
    }
    /// How many messages are buffered now.
    pub fn len(&self) -> usize {
        self.chan().len()
    }
    /// Would a receive go on at once (with a message, or because the channel is closed)? Another
    /// receiver may be faster. [`wait_ready`](Self::wait_ready) waits for a message.
    pub fn is_ready(&self) -> bool {
        self.chan().locked(Caller::get(), |state| state.receives_now())
    }
    /// Is nothing buffered?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Is the buffer full? (Always so of a rendezvous.)
    pub fn is_full(&self) -> bool {
        self.chan().is_full()
    }
    /// How many sending ends there are now. Others may be made or dropped meanwhile.
    pub fn sender_count(&self) -> usize {
        self.chan().ends(Side::Send)
    }
    /// How many receiving ends there are now. Others may be made or dropped meanwhile.
    pub fn receiver_count(&self) -> usize {
        self.chan().ends(Side::Receive)
    }
    /// How many messages it can hold; `None` if any number.
    pub fn capacity(&self) -> Option<usize> {
        self.chan().capacity()
    }
    /// Do both receive from the same channel?
    ///
    /// # Examples
    /// ```
    /// let (_tx, rx) = myriad::channel::unbounded::<u32>();
    /// let (_, other) = myriad::channel::unbounded();
    /// assert!(rx.same_channel(&rx.clone()) && !rx.same_channel(&other));
    /// ```
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        std::ptr::eq(self.chan(), other.chan())
    }

    /// Messages until the channel is closed and drained; waits for each as [`recv`](Self::recv).
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }
    /// Messages that are there now; waits for none. Its end is a [`try_recv`](Self::try_recv) that
    /// fails.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver { share: self.share.share(Side::Receive) }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        // SAFETY: the share goes with this end, and is not used afterwards.
        unsafe { self.share.leave(Side::Receive) };
    }
}

// The channel is in order whenever its lock is free, and nothing unwinds inside.
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

// Not fused: what a cancelled receive gives back may still come after the end.

/// See [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);
/// See [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);
/// Messages until the channel is closed and drained: `for message in receiver`. Example:
/// [`Receiver`].
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}
impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}
impl<T> Iterator for IntoIter<T> {
    type Item = T;
    #[inline]
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}
impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
