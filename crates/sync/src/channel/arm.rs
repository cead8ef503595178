//! Sending and receiving as arms of a select: see [`crate::select`].
//!
//! As in the futures, the entry stands in the arm, which does not move while it is linked. An arm
//! that goes (with a future that is dropped, or by a panic) takes its entry out, and gives back
//! what was handed to it.

use super::chan::{Chan, Locked, Received, Sent, Side};
use super::entry::{CLOSED, DONE, Entry, IDLE, LINKED};
use super::error::{RecvError, SendError};
use super::{Receiver, Sender};
use crate::select::{Arm, Link};
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, MultiWait};
use std::fmt;
use std::mem::MaybeUninit;
use std::task::Waker;

/// Receives, as an arm of a select: [`Receiver::recv_arm`].
#[must_use = "an arm does nothing outside of a select"]
pub struct RecvArm<'a, T> {
    chan: &'a Chan<T>,
    entry: Entry<T>,
}

// SAFETY: the entry is touched under the channel's lock, or by the arm's holder; messages are Send.
unsafe impl<T: Send> Send for RecvArm<'_, T> {}
// SAFETY: nothing can be done with `&RecvArm`.
unsafe impl<T: Send> Sync for RecvArm<'_, T> {}

impl<T> Receiver<T> {
    /// An arm of a [select](mod@crate::select) that receives the next message; `select!` writes it
    /// as `rx.recv()`.
    ///
    /// A closed channel in which nothing is left is ready, with an error.
    #[inline(always)]
    pub fn recv_arm(&self) -> RecvArm<'_, T> {
        RecvArm { chan: self.chan(), entry: Entry::new() }
    }
}

impl<'a, T> RecvArm<'a, T> {
    #[inline(always)]
    fn attempt_locked(&mut self, caller: Caller, mut state: Locked<'a, T>) -> Option<Result<T, RecvError>> {
        if state.can_fast_recv() {
            // SAFETY: `can_fast_recv` has said so, under the same lock.
            return Some(Ok(unsafe { state.fast_recv() }));
        }
        if state.has_nothing() {
            return None;
        }
        drop(state);
        self.attempt_slow(caller)
    }

    /// Not in the shortest way.
    #[inline(never)]
    fn attempt_slow(&mut self, caller: Caller) -> Option<Result<T, RecvError>> {
        let mut value = MaybeUninit::uninit();
        let slot = value.as_mut_ptr();
        // SAFETY: the slot is empty, or holds a message if it is done. A waiter was claimed, and
        // is woken once, without the lock.
        unsafe {
            match self.chan.locked(caller, |state| state.try_recv(slot)) {
                Received::Done(None) => {}
                Received::Done(Some(waiter)) => caller.wake(waiter),
                Received::Closed => return Some(Err(RecvError)),
                Received::Empty => return None,
            }
            Some(Ok(value.assume_init()))
        }
    }
}

// SAFETY: unlinked when `unlink` or the destructor returns.
unsafe impl<T> Arm for RecvArm<'_, T> {
    type Output = Result<T, RecvError>;

    #[inline(always)]
    unsafe fn attempt(&mut self, caller: Caller, _: Option<&Waker>) -> Option<Self::Output> {
        self.attempt_locked(caller, self.chan.lock(caller))
    }

    #[inline(always)]
    unsafe fn reattempt(&mut self, caller: Caller, _: Option<&Waker>, seen: &mut u64) -> Option<Self::Output> {
        let state = self.chan.lock(caller);
        *seen = seen.wrapping_add(state.version());
        self.attempt_locked(caller, state)
    }

    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link {
        let at = &raw mut self.entry;
        // SAFETY: the entry is ours, in no list and empty; it stays where it is, and `me` alive,
        // until it is unlinked (this method's contract).
        let (link, waiter) = self.chan.locked(caller, |state| unsafe { state.receive_or_wait(at, me) });
        if let Some(waiter) = waiter {
            // SAFETY: claimed, and woken once, without the lock.
            unsafe { caller.wake(waiter) };
        }
        link
    }

    fn unlink(&mut self, caller: Caller) -> Option<Self::Output> {
        let at = &raw mut self.entry;
        if self.entry.state() == LINKED {
            // SAFETY: the entry is this arm's, in no list but that of its side.
            drop(unsafe { self.chan.give_up(caller, at, Side::Receive) });
        }
        let state = self.entry.state();
        self.entry.reset();
        match state {
            // SAFETY: a message was handed over into the slot, and the entry is ours.
            DONE => Some(Ok(unsafe { self.entry.take() })),
            CLOSED => Some(Err(RecvError)),
            _ => None,
        }
    }

    fn abandon(&mut self, caller: Caller) {
        let at = &raw mut self.entry;
        // SAFETY: our own entry; afterwards nobody else knows it. If a message was handed over it
        // is ours.
        unsafe {
            drop(self.chan.give_up(caller, at, Side::Receive));
            let done = self.entry.state() == DONE && !on("arm-not-given-back");
            self.entry.reset();
            if done {
                self.chan.give_back(caller, self.entry.slot());
            }
        }
    }
}

impl<T> Drop for RecvArm<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.entry.state() != IDLE {
            self.abandon(Caller::get());
        }
    }
}

/// Sends, as an arm of a select: [`Sender::send_arm`], [`Sender::send_from_arm`].
#[must_use = "an arm does nothing outside of a select"]
pub struct SendArm<'a, T> {
    chan: &'a Chan<T>,
    entry: Entry<T>,
    /// Is the message in the slot?
    full: bool,
    /// Where it goes if it was not sent.
    back: Option<&'a mut Option<T>>,
}

// SAFETY: the entry is touched under the channel's lock, or by the arm's holder; messages are Send.
unsafe impl<T: Send> Send for SendArm<'_, T> {}
// SAFETY: nothing can be done with `&SendArm`.
unsafe impl<T: Send> Sync for SendArm<'_, T> {}

impl<T> Sender<T> {
    /// [`send`](Self::send) as an arm of a [select](mod@crate::select); `select!` writes it as
    /// `tx.send(value)`.
    ///
    /// If another arm wins, the message is dropped; [`send_from_arm`](Self::send_from_arm) keeps
    /// it. A closed channel is ready, with an error that has the message.
    #[inline(always)]
    pub fn send_arm(&self, value: T) -> SendArm<'_, T> {
        SendArm { chan: self.chan(), entry: Entry::with(value), full: true, back: None }
    }

    /// An arm of a [select](mod@crate::select) that takes the message out of `slot` if it is sent,
    /// and leaves it there else; `select!` writes it as `tx.send_from(slot)`. With nothing in
    /// `slot` it is never ready.
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::bounded(1);
    /// let mut slot = Some("kept");
    /// tx.send("first").unwrap();
    /// for _ in 0..2 {
    ///     myriad::select! {
    ///         sent = tx.send_from(&mut slot) => sent.unwrap(),
    ///         default => assert_eq!(rx.recv(), Ok("first")), // it is full
    ///     }
    /// }
    /// assert_eq!((slot, rx.recv()), (None, Ok("kept")));
    /// ```
    pub fn send_from_arm<'a>(&'a self, slot: &'a mut Option<T>) -> SendArm<'a, T> {
        match slot.take() {
            Some(value) => SendArm { chan: self.chan(), entry: Entry::with(value), full: true, back: Some(slot) },
            None => SendArm { chan: self.chan(), entry: Entry::new(), full: false, back: None },
        }
    }
}

impl<'a, T> SendArm<'a, T> {
    /// Its slot is full.
    #[inline(always)]
    fn attempt_locked(&mut self, caller: Caller, mut state: Locked<'a, T>) -> Option<Result<(), SendError<T>>> {
        // SAFETY: the slot is full, and ours. What does not go is still in it.
        if unsafe { state.fast_send_from(self.entry.slot()) } {
            self.full = false;
            return Some(Ok(()));
        }
        if state.has_no_room() {
            return None;
        }
        drop(state);
        self.attempt_slow(caller)
    }

    #[inline(never)]
    fn attempt_slow(&mut self, caller: Caller) -> Option<Result<(), SendError<T>>> {
        let slot = self.slot();
        // SAFETY: the slot is full and ours, and its message is moved out once. A waiter was
        // claimed, and is woken once.
        unsafe {
            match self.chan.locked(caller, |state| state.try_send(slot)) {
                Sent::Full => None,
                Sent::Dropped => {
                    self.full = false;
                    slot.drop_in_place();
                    Some(Ok(()))
                }
                Sent::Closed => {
                    self.full = false;
                    Some(Err(SendError(self.entry.take())))
                }
                Sent::Done(waiter) => {
                    self.full = false;
                    if let Some(waiter) = waiter {
                        caller.wake(waiter);
                    }
                    Some(Ok(()))
                }
            }
        }
    }

    fn slot(&self) -> *mut T {
        // SAFETY: the entry is not linked: only the arm's holder calls this.
        unsafe { self.entry.slot() }
    }
}

// SAFETY: unlinked when `unlink` or the destructor returns.
unsafe impl<T> Arm for SendArm<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline(always)]
    unsafe fn attempt(&mut self, caller: Caller, _: Option<&Waker>) -> Option<Self::Output> {
        if !self.full {
            return None;
        }
        self.attempt_locked(caller, self.chan.lock(caller))
    }

    #[inline(always)]
    unsafe fn reattempt(&mut self, caller: Caller, _: Option<&Waker>, seen: &mut u64) -> Option<Self::Output> {
        if !self.full {
            return None;
        }
        let state = self.chan.lock(caller);
        *seen = seen.wrapping_add(state.version());
        self.attempt_locked(caller, state)
    }

    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link {
        if !self.full {
            return Link::Linked;
        }
        let at = &raw mut self.entry;
        // SAFETY: the entry is ours, in no list and full; it stays where it is, and `me` alive,
        // until it is unlinked (this method's contract).
        let (link, waiter) = self.chan.locked(caller, |state| unsafe { state.send_or_wait(at, me) });
        if let Some(waiter) = waiter {
            // SAFETY: claimed, and woken once, without the lock.
            unsafe { caller.wake(waiter) };
        }
        link
    }

    fn unlink(&mut self, caller: Caller) -> Option<Self::Output> {
        let at = &raw mut self.entry;
        if self.entry.state() == LINKED {
            // SAFETY: the entry is this arm's, in no list but that of its side.
            drop(unsafe { self.chan.give_up(caller, at, Side::Send) });
        }
        let state = self.entry.state();
        self.entry.reset();
        match state {
            DONE => {
                self.full = false;
                Some(Ok(()))
            }
            CLOSED => {
                self.full = false;
                // SAFETY: not sent: it is still there, and ours.
                Some(Err(SendError(unsafe { self.entry.take() })))
            }
            _ => None,
        }
    }

    fn abandon(&mut self, caller: Caller) {
        // SAFETY: our own entry; afterwards nobody else knows it.
        drop(unsafe { self.chan.give_up(caller, &raw mut self.entry, Side::Send) });
        // What was taken is sent; all else is still in the slot.
        self.full &= self.entry.state() != DONE;
        self.entry.reset();
    }
}

impl<T> Drop for SendArm<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if !self.full {
            return;
        }
        if self.entry.state() != IDLE {
            self.abandon(Caller::get());
        }
        if !self.full {
            return;
        }
        // SAFETY: our own entry, in no list; the message is still in the slot.
        unsafe {
            match self.back.take() {
                Some(back) => *back = Some(self.entry.take()),
                None => self.entry.slot().drop_in_place(),
            }
        }
    }
}

impl<T> fmt::Debug for RecvArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecvArm(..)")
    }
}
impl<T> fmt::Debug for SendArm<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendArm(..)")
    }
}
