//! The sending end.

use super::blocked::BlockedEnd;
use super::chan::{Chan, Locked, Sent, Side, Waited};
use super::ends::Share;
use super::entry::DONE;
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::future::SendFuture;
use super::look::Look;
use crate::limit::Limited;
use myriad_core::engine::wait::{Caller, Wait};
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// Sends messages. Clone it for more senders; when all are dropped, the channel closes.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::bounded(4);
/// let other = tx.clone();
/// tx.send(1).unwrap();
/// myriad::block_on(other.send_async(2)).unwrap();
/// drop((tx, other));
/// assert_eq!(rx.iter().collect::<Vec<_>>(), [1, 2]);
/// ```
pub struct Sender<T> {
    share: Share<T>,
}

impl<T> Sender<T> {
    pub(super) fn new(share: Share<T>) -> Sender<T> {
        Sender { share }
    }

    #[inline(always)]
    pub(super) fn chan(&self) -> &Chan<T> {
        self.share.chan()
    }

    pub(super) fn share(&self) -> &Share<T> {
        &self.share
    }

    /// Sends a message.
    ///
    /// # Blocking
    /// While the channel is full (at a rendezvous: until a receiver takes the message). A receive
    /// or a close wakes it; the calling task is set aside meanwhile, a foreign thread sleeps. A
    /// task that has sent or received 256 messages without blocking lets others run.
    ///
    /// # Cancellation
    /// A task that is cancelled while it waits unwinds: the message was not sent, and is dropped.
    ///
    /// # Errors
    /// The channel is closed: the message comes back.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    // Inlined with the switch to another stack, as `Receiver::recv`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let caller = Caller::get();
        caller.spend();
        let mut state = self.chan().lock(caller);
        let mut value = match state.fast_send(ManuallyDrop::new(value)) {
            Ok(()) => return Ok(()),
            Err(value) => value,
        };
        let slot = &raw mut *value;
        // SAFETY: the message is in its slot, and is moved out of it once.
        unsafe {
            if state.has_no_room() && caller.is_prepared() {
                return Self::send_blocking(caller, self.chan(), state, slot);
            }
            self.send_slow(caller, state, slot)
        }
    }

    /// # Safety
    /// `slot` holds a message, which is moved out.
    #[inline(never)]
    unsafe fn send_slow<'a>(
        &'a self,
        caller: Caller,
        mut state: Locked<'a, T>,
        slot: *mut T,
    ) -> Result<(), SendError<T>> {
        // SAFETY: `slot` holds a message, which is moved out once (this function's contract). A
        // waiter was claimed, and is woken once, without the lock.
        unsafe {
            if let Some(waiter) = state.give_to_waiting(slot) {
                drop(state);
                caller.wake_next(waiter);
                return Ok(());
            }
            match state.try_send_to_nobody(slot) {
                Sent::Done(None) => Ok(()),
                Sent::Done(Some(waiter)) => {
                    drop(state);
                    caller.wake_next(waiter);
                    Ok(())
                }
                Sent::Dropped => {
                    drop(state);
                    slot.drop_in_place();
                    Ok(())
                }
                Sent::Closed => Err(SendError(slot.read())),
                Sent::Full => {
                    let mut look = Look::new(caller, None);
                    if !state.looks_again(&mut look, Side::Send) && !caller.is_worker() {
                        return Self::send_blocking(caller, self.chan(), state, slot);
                    }
                    drop(state);
                    self.send_unprepared(caller, slot, look)
                }
            }
        }
    }

    /// # Safety
    /// `slot` holds a message, which is moved out.
    #[cold]
    unsafe fn send_unprepared(&self, caller: Caller, slot: *mut T, look: Look) -> Result<(), SendError<T>> {
        let blocked = BlockedEnd::new(caller, self.chan(), Side::Send);
        // SAFETY: `slot` holds a message (this function's contract); `blocked` is new, without a
        // deadline, and stands in this frame. A send that is not done leaves the message in its
        // entry.
        unsafe {
            match self.wait(caller, slot, None, look, &blocked) {
                Waited::Done => Ok(()),
                _ => Err(Self::not_sent(&blocked)),
            }
        }
    }

    /// The channel, locked, was found full, and a wait can begin.
    ///
    /// # Safety
    /// `slot` holds a message, which is moved out; `state` is that of `chan`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn send_blocking(
        caller: Caller,
        chan: &Chan<T>,
        mut state: Locked<'_, T>,
        slot: *mut T,
    ) -> Result<(), SendError<T>> {
        let blocked = BlockedEnd::new(caller, chan, Side::Send);
        // SAFETY: the entry stands in this frame until the wait is over; it is prepared, and
        // published before the lock goes. Afterwards the entry is ours again.
        unsafe {
            blocked.entry.put(slot);
            state.wait(Side::Send, blocked.at(), blocked.wait.waiter());
            drop(state);
            Wait::block(blocked.whole());
            if blocked.entry.state() == DONE { Ok(()) } else { Err(Self::not_sent(&blocked)) }
        }
    }

    /// A wait has ended, and the message is still there. If because of a cancellation, it is
    /// dropped in the unwinding.
    ///
    /// # Safety
    /// The wait of `blocked` is over, and its entry's slot is full; the message is taken once.
    #[cold]
    unsafe fn not_sent(blocked: &BlockedEnd<T>) -> SendError<T> {
        // SAFETY: the wait is over and the slot is full (this function's contract), so the entry is
        // its owner's.
        let message = SendError(unsafe { blocked.entry.take() });
        blocked.wait.unwind_if_cancelled();
        message
    }

    /// Sends a message if that is possible at once.
    ///
    /// # Blocking
    /// It waits for nothing. But in a closure each 256th attempt in a row that fails lets others go
    /// first, as [`yield_now`](myriad_core::yield_now) does, so that who tries again and again does
    /// not keep a worker from those who would make room. (Not while a panic unwinds, nor in
    /// [`keep_thread`](myriad_core::task::keep_thread); and not in a future, which is to wait by
    /// [`send_async`](Self::send_async).) No cancellation is found there.
    ///
    /// # Errors
    /// The channel is full, no receiver waits at the rendezvous, or it is closed: the message comes
    /// back.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let caller = Caller::get();
        let mut state = self.chan().lock(caller);
        match state.fast_send(ManuallyDrop::new(value)) {
            Ok(()) => Ok(()),
            // SAFETY: the message is in its slot, and is moved out of it once.
            Err(mut value) => unsafe { self.try_send_slow(caller, state, &raw mut *value) },
        }
    }

    /// # Safety
    /// `slot` holds a message, which is moved out.
    #[inline(never)]
    unsafe fn try_send_slow<'a>(
        &'a self,
        caller: Caller,
        mut state: Locked<'a, T>,
        slot: *mut T,
    ) -> Result<(), TrySendError<T>> {
        // SAFETY: `slot` holds a message, which is moved out once (this function's contract). A
        // waiter was claimed, and is woken once, without the lock.
        unsafe {
            if let Some(waiter) = state.give_to_waiting(slot) {
                drop(state);
                caller.wake_next(waiter);
                return Ok(());
            }
            let sent = state.try_send_to_nobody(slot);
            drop(state);
            match sent {
                Sent::Done(None) => Ok(()),
                Sent::Done(Some(waiter)) => {
                    caller.wake_next(waiter);
                    Ok(())
                }
                Sent::Dropped => {
                    slot.drop_in_place();
                    Ok(())
                }
                Sent::Closed => {
                    caller.spend_in_vain();
                    Err(TrySendError::Closed(slot.read()))
                }
                Sent::Full => {
                    caller.spend_in_vain();
                    Err(TrySendError::Full(slot.read()))
                }
            }
        }
    }

    /// Sends a message, and waits for at most `timeout`.
    ///
    /// # Blocking
    /// As [`send`](Self::send), up to the time limit.
    ///
    /// # Errors
    /// The time has passed, or the channel is closed: the message comes back.
    pub fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.send_deadline(value, time::now() + timeout)
    }

    /// Sends a message, and waits until `deadline` at the latest.
    ///
    /// # Blocking
    /// As [`send`](Self::send), up to the deadline.
    ///
    /// # Errors
    /// As [`send_timeout`](Self::send_timeout).
    pub fn send_deadline(&self, value: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        let caller = Caller::get();
        caller.spend();
        let mut value = ManuallyDrop::new(value);
        let blocked = BlockedEnd::timed(caller, self.chan(), Side::Send);
        // SAFETY: the message is in its slot, and is moved out of it once; the entry stands in
        // this frame.
        unsafe {
            match self.wait(caller, &raw mut *value, Some(deadline), Look::new(caller, Some(deadline)), &blocked) {
                Waited::Done => Ok(()),
                Waited::Timeout => Err(SendTimeoutError::Timeout(Self::not_sent(&blocked).0)),
                Waited::Closed | Waited::Cancelled => Err(SendTimeoutError::Closed(Self::not_sent(&blocked).0)),
            }
        }
    }

    /// A future that sends a message.
    ///
    /// # Cancellation
    /// Dropped while its message waits for room or a receiver, it has sent nothing, and drops the
    /// message. It may have been taken since the last poll, though: then it is sent, and it is not
    /// known to whoever drops the future. With a time limit,
    /// [`send_timeout_async`](Self::send_timeout_async) does know.
    #[inline]
    pub fn send_async(&self, value: T) -> SendFuture<'_, T> {
        SendFuture::new(self.chan(), value)
    }

    /// A future that sends a message, and waits for at most `timeout` from this call.
    ///
    /// It is exact, as [`send_timeout`](Self::send_timeout) and unlike
    /// [`timeout_async`](myriad_core::time::timeout_async): when it says that the time has passed
    /// the message was not sent, and comes back; so it may be sent again.
    ///
    /// # Cancellation
    /// As of [`send_async`](Self::send_async).
    ///
    /// # Errors
    /// As of [`send_timeout`](Self::send_timeout).
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::{SendTimeoutError, bounded};
    /// use std::time::Duration;
    /// let (tx, rx) = bounded(1);
    /// tx.send(1).unwrap();
    /// let late = tx.send_timeout_async(2, Duration::from_millis(1));
    /// assert_eq!(myriad::block_on(late), Err(SendTimeoutError::Timeout(2)));
    /// assert_eq!((rx.recv(), rx.try_recv().is_err()), (Ok(1), true));
    /// ```
    pub fn send_timeout_async(
        &self,
        value: T,
        timeout: Duration,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> + use<'_, T> {
        self.send_deadline_async(value, time::now() + timeout)
    }

    /// As [`send_timeout_async`](Self::send_timeout_async), until `deadline`.
    ///
    /// # Cancellation
    /// As of [`send_async`](Self::send_async).
    ///
    /// # Errors
    /// As of [`send_timeout`](Self::send_timeout).
    pub fn send_deadline_async(
        &self,
        value: T,
        deadline: Instant,
    ) -> impl Future<Output = Result<(), SendTimeoutError<T>>> + use<'_, T> {
        Limited::new(self.send_async(value), deadline)
    }

    /// Sends, and waits if it must. Unless it is done the message is in the entry's slot
    /// afterwards; also if a cancellation has ended the wait, which the caller asks.
    ///
    /// # Safety
    /// `slot` holds a message, which is moved out. `blocked` is new, of this deadline, and stays
    /// where it is until this returns.
    unsafe fn wait(
        &self,
        caller: Caller,
        slot: *mut T,
        deadline: Option<Instant>,
        mut look: Look,
        blocked: &BlockedEnd<T>,
    ) -> Waited {
        let (wait, entry) = (&blocked.wait, blocked.at());
        let prepared = wait.prepare();
        // SAFETY: `slot` holds a message, and `blocked` is new and stays where it is (this
        // function's contract); its entry is ours until it is linked. A waiter was claimed, and is
        // woken once. The wait is prepared and published, of the kind that it is; when it is over
        // the entry is ours again.
        unsafe {
            let sent = loop {
                look.pause();
                let sent = self.chan().locked(caller, |state| {
                    state.has_looked(&mut look, Side::Send);
                    let sent = state.try_send(slot);
                    let waits = matches!(sent, Sent::Full) && prepared.is_ok();
                    if waits && state.looks_again(&mut look, Side::Send) {
                        return None;
                    }
                    if matches!(sent, Sent::Full | Sent::Closed) {
                        (*entry).put(slot);
                    }
                    if waits {
                        state.wait(Side::Send, entry, wait.waiter());
                    }
                    Some(sent)
                });
                if let Some(sent) = sent {
                    break sent;
                }
            };
            match (sent, prepared) {
                (Sent::Done(None), _) => return Waited::Done,
                (Sent::Done(Some(waiter)), _) => {
                    caller.wake_next(waiter);
                    return Waited::Done;
                }
                (Sent::Dropped, _) => {
                    slot.drop_in_place();
                    return Waited::Done;
                }
                (Sent::Closed, _) => return Waited::Closed,
                (Sent::Full, Err(error)) => {
                    let _dropped_by_the_panic = (*entry).take();
                    panic!("{error}");
                }
                (Sent::Full, Ok(())) => {}
            }
            if !Wait::block_by(blocked.whole(), deadline) {
                if wait.was_cancelled() {
                    drop(self.chan().give_up(caller, entry, Side::Send));
                    return Waited::Cancelled;
                }
                return match self
                    .chan()
                    .give_up_late(caller, entry, Side::Send, |state| state.try_send((*entry).slot()))
                {
                    Sent::Done(waiter) => {
                        waiter.into_iter().for_each(|waiter| caller.wake_next(waiter));
                        Waited::Done
                    }
                    Sent::Dropped => {
                        (*entry).slot().drop_in_place();
                        Waited::Done
                    }
                    Sent::Closed => Waited::Closed,
                    Sent::Full => Waited::Timeout,
                };
            }
            if (*entry).state() == DONE { Waited::Done } else { Waited::Closed }
        }
    }

    /// Sends a message at once; if the buffer is full its oldest message makes room, and comes
    /// back. So the channel holds the newest, as a
    /// [`bounded_drop_oldest`](super::bounded_drop_oldest) one, but nothing is dropped unseen.
    ///
    /// Those who wait to send stay in line. At a rendezvous, which holds nothing, the message
    /// itself comes back unless a receiver waits. (If somebody [peeks at](super::Receiver::recv_if)
    /// the oldest message, that is dropped when they are done, unless they take it, and nothing
    /// comes back here.)
    ///
    /// # Blocking
    /// Never. O(1).
    ///
    /// # Errors
    /// The channel is closed: the message comes back.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::bounded(2);
    /// assert_eq!([1, 2, 3].map(|n| tx.force_send(n).unwrap()), [None, None, Some(1)]);
    /// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [2, 3]);
    /// ```
    pub fn force_send(&self, value: T) -> Result<Option<T>, SendError<T>> {
        let caller = Caller::get();
        let mut value = ManuallyDrop::new(value);
        let slot = &raw mut *value;
        // SAFETY: the message is in its slot, and is moved out of it once. A waiter was claimed,
        // and is woken once.
        unsafe {
            match self.chan().locked(caller, |state| state.force_send(slot)) {
                Sent::Done(waiter) => {
                    waiter.into_iter().for_each(|waiter| caller.wake_next(waiter));
                    Ok(None)
                }
                Sent::Dropped | Sent::Full => Ok(Some(slot.read())),
                Sent::Closed => Err(SendError(slot.read())),
            }
        }
    }

    /// Closes the channel for all: sends fail from now on, and receivers get what is buffered.
    /// True: it was open.
    ///
    /// Whoever waits is woken: senders with their message, receivers because nothing will come.
    pub fn close(&self) -> bool {
        self.chan().close()
    }

    /// Is the channel closed?
    pub fn is_closed(&self) -> bool {
        self.chan().is_closed()
    }
    /// How many messages are buffered now.
    pub fn len(&self) -> usize {
        self.chan().len()
    }
    /// Would a send go on at once (or fail, because the channel is closed)? Another sender may be
    /// faster.
    pub fn is_ready(&self) -> bool {
        self.chan().locked(Caller::get(), |state| state.sends_now())
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
    /// Do both send to the same channel?
    ///
    /// # Examples
    /// ```
    /// let (tx, _rx) = myriad::channel::unbounded::<u32>();
    /// let (other, _) = myriad::channel::unbounded();
    /// assert!(tx.same_channel(&tx.clone()) && !tx.same_channel(&other));
    /// ```
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        std::ptr::eq(self.chan(), other.chan())
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender { share: self.share.share(Side::Send) }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        // SAFETY: the share goes with this end, and is not used afterwards.
        unsafe { self.share.leave(Side::Send) };
    }
}

// As of a receiver.
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
