//! The sending end.

use super::chan::{Chan, Locked, Sent, Side};
use super::ends::Share;
use super::entry::{DONE, Entry};
use super::error::{SendError, SendTimeoutError, TrySendError};
use super::future::SendFuture;
use myriad_core::time::{self, Instant};
use myriad_core::wait::Here;
use std::fmt;
use std::time::Duration;

/// Sends messages. Clone it for more senders; when all are dropped, the channel closes.
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

    /// Sends a message.
    ///
    /// # Blocking
    /// While the channel is full (at a rendezvous: until a receiver takes the message). A receive or a close wakes it; the
    /// calling task is set aside meanwhile, a foreign thread sleeps. A task that has sent or received 128 messages
    /// without blocking lets others run.
    ///
    /// # Errors
    /// The channel is closed: the message comes back.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[inline]
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let here = Here::get();
        here.spend();
        let mut state = self.chan().lock(here);
        match state.quick_send(value) {
            Ok(()) => Ok(()),
            Err(value) => self.send_slow(here, state, value),
        }
    }

    #[inline(never)]
    fn send_slow<'a>(&'a self, here: Here, mut state: Locked<'a, T>, value: T) -> Result<(), SendError<T>> {
        match state.try_send(value) {
            Sent::Done(None) => Ok(()),
            Sent::Done(Some(target)) => {
                drop(state);
                // SAFETY: claimed, and woken once.
                unsafe { here.wake(target) };
                Ok(())
            }
            Sent::Closed(value) => Err(SendError(value)),
            Sent::Full(value) if here.is_prepared() => Self::send_blocking(here, state, value),
            Sent::Full(value) => {
                drop(state);
                self.wait(here, value, None).map_err(|error| SendError(error.into_inner()))
            }
        }
    }

    /// The channel, locked, was found full, and a wait can begin.
    #[inline(always)]
    fn send_blocking(here: Here, mut state: Locked<'_, T>, value: T) -> Result<(), SendError<T>> {
        let wait = here.wait();
        let entry = Entry::new();
        // SAFETY: the entry stands in this frame until the wait is over; it is prepared, and published before the lock goes.
        // Afterwards the entry is ours again.
        unsafe {
            entry.put(value);
            state.wait(Side::Send, (&raw const entry).cast_mut(), wait.target());
            drop(state);
            wait.block();
            if entry.state() == DONE { Ok(()) } else { Err(SendError(entry.take())) }
        }
    }

    /// Sends a message if that is possible at once.
    ///
    /// # Errors
    /// The channel is full, no receiver waits at the rendezvous, or it is closed: the message comes back.
    #[inline]
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        let here = Here::get();
        match self.chan().locked(here, |state| state.try_send(value)) {
            Sent::Done(target) => {
                if let Some(target) = target {
                    // SAFETY: claimed, and woken once.
                    unsafe { here.wake(target) };
                }
                Ok(())
            }
            Sent::Closed(value) => Err(TrySendError::Closed(value)),
            Sent::Full(value) => Err(TrySendError::Full(value)),
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
        let here = Here::get();
        here.spend();
        self.wait(here, value, Some(deadline))
    }

    /// A future that sends a message.
    ///
    /// # Cancellation
    /// Dropped while its message waits for room or a receiver, it has sent nothing, and drops the message. It may have been
    /// taken since the last poll, though: then it is sent, and it is not known to whoever drops the future.
    #[inline]
    pub fn send_async(&self, value: T) -> SendFuture<'_, T> {
        SendFuture::new(self.chan(), value)
    }

    #[inline(always)]
    fn wait(&self, here: Here, value: T, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        let wait = if deadline.is_some() { here.timed_wait() } else { here.wait() };
        let prepared = wait.prepare();
        let entry = Entry::new();
        let at = (&raw const entry).cast_mut();
        let tried = self.chan().locked(here, |state| match state.try_send(value) {
            Sent::Full(value) if prepared.is_ok() => {
                // SAFETY: the entry stands in this frame until the wait is over; it is ours until linked.
                unsafe {
                    entry.put(value);
                    state.wait(Side::Send, at, wait.target());
                }
                None
            }
            other => Some(other),
        });
        match tried {
            None => {}
            Some(Sent::Closed(value)) => return Err(SendTimeoutError::Closed(value)),
            Some(Sent::Done(target)) => {
                if let Some(target) = target {
                    // SAFETY: claimed, and woken once.
                    unsafe { here.wake(target) };
                }
                return Ok(());
            }
            Some(Sent::Full(_)) => match prepared {
                Err(error) => panic!("{error}"),
                Ok(()) => unreachable!("it waits then"),
            },
        }
        // SAFETY: prepared and published, of the kind that it is. When it is over the entry is ours again.
        unsafe {
            let woken = match deadline {
                None => {
                    wait.block();
                    true
                }
                Some(deadline) => wait.block_until(deadline),
            };
            if !woken {
                drop(self.chan().give_up(here, at, Side::Send));
                return Err(SendTimeoutError::Timeout(entry.take()));
            }
            if entry.state() == DONE { Ok(()) } else { Err(SendTimeoutError::Closed(entry.take())) }
        }
    }

    /// Closes the channel for all: sends fail from now on, and receivers get what is buffered. True: it was open.
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
    /// Is nothing buffered?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Is the buffer full? (Always so of a rendezvous.)
    pub fn is_full(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.len() >= capacity)
    }
    /// How many messages it can hold; `None` if any number.
    pub fn capacity(&self) -> Option<usize> {
        self.chan().capacity()
    }
    /// Do both send to the same channel?
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
        // SAFETY: the share goes with this end.
        unsafe { self.share.leave(Side::Send) };
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("len", &self.len()).field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
