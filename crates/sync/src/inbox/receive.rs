//! Receives of an inbox: one that blocks, and one as a future.
//!
//! One that blocks is handed its message where it stands. A future finds the message in the queue,
//! and has only a note of whether it waits, for its waker stands in the inbox. So an idle actor is
//! small, a future that is dropped has no message to put back, and the queue of one that waits has
//! no memory: what comes next finds some in a free list.

use super::{CLOSED_FOR_ALL, Inbox};
use crate::entry::{DONE, Entry, LINKED};
use crate::limit::Stop;
use crate::lock::op::Op;
use myriad_base::sys::mutant::on;
use myriad_core::engine::unwind;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter, WakerWord};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A receive that blocks.
pub(super) struct Receive<'a, T> {
    pub(super) inbox: &'a Inbox<T>,
    pub(super) got: Option<T>,
}

/// What has become of a receive that begins to block.
enum Begun<T> {
    Got(T),
    Closed,
    /// It waits, if there is a waiter.
    Waits,
}

// SAFETY: entries are linked and taken out under the lock, in one list; `inbox` stays the same.
// Nothing that `start` does once it has linked an entry runs user code or unwinds.
unsafe impl<T> Op for Receive<'_, T> {
    type Slot = T;
    const REASON: WaitReason = WaitReason::Recv;

    #[inline(always)]
    fn object(&self) -> *const () {
        self.inbox.object()
    }

    #[inline(always)]
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) -> bool {
        let begun = self.inbox.0.locked(caller, |state| {
            if let Some(message) = state.pop_for_consumer() {
                return Begun::Got(message);
            }
            if state.has(CLOSED_FOR_ALL) {
                return Begun::Closed;
            }
            if let Some(waiter) = Waiter::take(waiter) {
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { state.waiting.push(entry, waiter) };
            }
            Begun::Waits
        });
        match begun {
            Begun::Got(message) => self.got = Some(message),
            Begun::Closed => {}
            Begun::Waits => return false,
        }
        true
    }

    #[inline(always)]
    unsafe fn ended(&mut self, slot: *mut T) {
        // SAFETY: ended with `DONE`, so the slot is full and ours (this method's contract).
        self.got = Some(unsafe { slot.read() });
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in the list of this
        // inbox, whose lock is held.
        self.inbox.0.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<T>) -> u8 {
        let (outcome, waiter) = self.inbox.0.locked(caller, |state| {
            // SAFETY: `entry` was linked by `start` (this method's contract), in this list; the
            // lock is held.
            unsafe {
                let outcome = (*entry).state();
                let waiter = (outcome == LINKED).then(|| state.waiting.remove(entry));
                (*entry).reset();
                (outcome, waiter)
            }
        });
        drop(InHand::new(waiter));
        outcome
    }

    unsafe fn undo(&mut self, outcome: u8, slot: *mut T) -> bool {
        if outcome == DONE {
            // SAFETY: withdrawn with `DONE`, so the slot is full and ours (this method's contract).
            let message = unsafe { slot.read() };
            if let Err(message) = self.inbox.put_back(message) {
                unwind::drop_quietly(message);
            }
        }
        false
    }
}

/// How far a receive has come that is a future. The inbox is not in it: who receives has that.
#[derive(Debug, Default)]
pub struct ReceiveNote {
    /// Its waker is in the inbox, or has been called since.
    waits: bool,
}

impl ReceiveNote {
    /// For the begin of a poll: the oldest message, if there is one, the inbox is not paused, and
    /// the poll has not done enough in a row.
    #[inline(always)]
    pub fn poll_now<T>(&mut self, inbox: &Inbox<T>) -> Option<T> {
        let message = inbox.0.poll_lock()?.pop_for_consumer()?;
        self.waits = false;
        Some(message)
    }

    /// Has it begun to wait, and is not over?
    #[inline(always)]
    pub fn waits(&self) -> bool {
        self.waits
    }

    /// Polls it. `None`: the inbox is closed.
    ///
    /// # Panics
    /// If somebody blocks there meanwhile: an inbox has one consumer.
    #[inline]
    pub fn poll<T>(&mut self, inbox: &Inbox<T>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        if !self.waits && !Caller::get().poll_spend(cx.waker()) {
            return Poll::Pending;
        }
        // On its way into the inbox, or out of it.
        let mut waker = WakerWord::of_task(cx.waker());
        loop {
            // (Anew in each turn: a clone of a waker is user code.)
            let caller = Caller::get();
            let mut state = inbox.0.lock(caller);
            let is_seen = waker.is_some() && on("inbox-waits-unlooked");
            let message = if is_seen { None } else { state.pop_for_consumer() };
            if message.is_some() || state.has(CLOSED_FOR_ALL) {
                drop(state);
                waker.into_iter().for_each(WakerWord::discard);
                self.waits = false;
                return Poll::Ready(message);
            }
            if !state.waiting.is_with(cx.waker()) {
                let Some(new) = waker else {
                    drop(state);
                    waker = Some(WakerWord::clone_of(cx.waker()));
                    continue;
                };
                waker = state.waiting.take_future();
                if !state.waiting.is_empty() {
                    drop(state);
                    new.discard();
                    unreachable!("an inbox has one consumer, and another one blocks here");
                }
                state.wait(new);
            }
            drop(state);
            waker.into_iter().for_each(WakerWord::discard);
            self.waits = true;
            caller.note_await(WaitReason::Recv, inbox.object());
            return Poll::Pending;
        }
    }

    /// It waits no longer.
    #[cold]
    #[inline(never)]
    pub fn give_up<T>(&mut self, inbox: &Inbox<T>) {
        let caller = Caller::get();
        caller.forget_await();
        self.waits = false;
        let waker = inbox.0.locked(caller, |state| state.waiting.take_future());
        if let Some(waker) = waker {
            waker.discard();
        }
    }
}

/// A future of the next message: see [`Inbox::receive_async`].
#[must_use = "futures do nothing unless awaited"]
pub struct ReceiveFuture<'a, T> {
    inbox: &'a Inbox<T>,
    receiving: ReceiveNote,
}

impl<'a, T> ReceiveFuture<'a, T> {
    pub(super) fn new(inbox: &'a Inbox<T>) -> Self {
        ReceiveFuture { inbox, receiving: ReceiveNote::default() }
    }
}

impl<T> Future for ReceiveFuture<'_, T> {
    type Output = Option<T>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let inbox = self.inbox;
        self.receiving.poll(inbox, cx)
    }
}

impl<T> Stop for ReceiveFuture<'_, T> {
    type InTime = Option<T>;

    fn in_time(message: Option<T>) -> Option<T> {
        message
    }

    fn stop(mut self: Pin<&mut Self>) -> Option<T> {
        let inbox = self.inbox;
        self.receiving.give_up(inbox);
        inbox.try_receive()
    }
}

impl<T> Drop for ReceiveFuture<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.receiving.waits {
            self.receiving.give_up(self.inbox);
        }
    }
}

impl<T> fmt::Debug for ReceiveFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveFuture").finish_non_exhaustive()
    }
}
