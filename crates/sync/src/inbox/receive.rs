//! Receives of an inbox: one that blocks, and one as a future.

use super::{CLOSED_FOR_ALL, Inbox};
use crate::entry::{DONE, Entry, LINKED};
use crate::lock::op::{Op, Waiting};
use myriad_base::sys::mutant::on;
use myriad_core::engine::unwind;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A receive that blocks.
pub(super) struct Receive<'a, T> {
    pub(super) inbox: &'a Inbox<T>,
    pub(super) got: Option<T>,
}

/// One as a future: the message is left in the slot of the entry.
pub(super) struct ReceiveIntoSlot<'a, T> {
    /// `None`: it is over, and the inbox was closed.
    pub(super) inbox: Option<&'a Inbox<T>>,
}

/// What has become of a receive that begins.
enum Begun<T> {
    Got(T),
    Closed,
    /// It waits, if there is a waiter.
    Waits,
}

/// The steps of both.
impl<T> Inbox<T> {
    /// # Safety
    /// As of [`Op::start`].
    #[inline(always)]
    unsafe fn start(&self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) -> Begun<T> {
        self.0.locked(caller, |state| {
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
        })
    }

    /// # Safety
    /// As of [`Op::set_waiter`].
    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in the list of this
        // inbox, whose lock is held.
        self.0.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    /// # Safety
    /// As of [`Op::withdraw`].
    unsafe fn withdraw(&self, caller: Caller, entry: *mut Entry<T>) -> u8 {
        let (outcome, waiter) = self.0.locked(caller, |state| {
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

    /// # Safety
    /// As of [`Op::undo`].
    unsafe fn undo(&self, outcome: u8, slot: *mut T) -> bool {
        if outcome == DONE && !on("inbox-not-put-back") {
            // SAFETY: withdrawn with `DONE`, so the slot is full and ours (this method's contract).
            let message = unsafe { slot.read() };
            if let Err(message) = self.put_back(message) {
                unwind::drop_quietly(message);
            }
        }
        false
    }
}

// SAFETY: entries are linked and taken out under the lock, in one list; `inbox` stays the same.
// Nothing that `start` does once it has linked an entry runs user code or unwinds.
unsafe impl<T> Op for Receive<'_, T> {
    type Slot = T;
    const REASON: WaitReason = WaitReason::Recv;

    #[inline(always)]
    fn object(&self) -> *const () {
        std::ptr::from_ref(self.inbox).cast()
    }

    #[inline(always)]
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) -> bool {
        // SAFETY: this method's contract.
        match unsafe { self.inbox.start(caller, entry, waiter) } {
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
        // SAFETY: this method's contract.
        unsafe { self.inbox.set_waiter(caller, entry, waiter) };
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<T>) -> u8 {
        // SAFETY: this method's contract.
        unsafe { self.inbox.withdraw(caller, entry) }
    }

    unsafe fn undo(&mut self, outcome: u8, slot: *mut T) -> bool {
        // SAFETY: this method's contract.
        unsafe { self.inbox.undo(outcome, slot) }
    }
}

impl<'a, T> ReceiveIntoSlot<'a, T> {
    fn inbox(&self) -> &'a Inbox<T> {
        self.inbox.expect("what is over waits no more")
    }
}

// SAFETY: as of `Receive`: the steps are the same.
unsafe impl<T> Op for ReceiveIntoSlot<'_, T> {
    type Slot = T;
    const REASON: WaitReason = WaitReason::Recv;

    #[inline(always)]
    fn object(&self) -> *const () {
        self.inbox.map_or(std::ptr::null(), |inbox| std::ptr::from_ref(inbox).cast())
    }

    #[inline(always)]
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) -> bool {
        // SAFETY: this method's contract; the entry is idle, so its slot is the caller's, and
        // empty.
        unsafe {
            match self.inbox().start(caller, entry, waiter) {
                Begun::Got(message) => (*entry).slot().write(message),
                Begun::Closed => self.inbox = None,
                Begun::Waits => return false,
            }
        }
        true
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<T>, waiter: &mut Option<Waiter>) {
        // SAFETY: this method's contract.
        unsafe { self.inbox().set_waiter(caller, entry, waiter) };
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<T>) -> u8 {
        // SAFETY: this method's contract.
        unsafe { self.inbox().withdraw(caller, entry) }
    }

    unsafe fn undo(&mut self, outcome: u8, slot: *mut T) -> bool {
        // SAFETY: this method's contract.
        unsafe { self.inbox().undo(outcome, slot) }
    }
}

/// The message of a receive that is done just now. `None`: the inbox was closed.
#[inline(always)]
pub(super) fn take<T>(waiting: Pin<&mut Waiting<ReceiveIntoSlot<'_, T>>>) -> Option<T> {
    // SAFETY: nothing is moved but the message. `start` has left it in the slot, unless the inbox
    // was closed, or a partner has, with `DONE`; and the entry is ours again.
    unsafe {
        let waiting = waiting.get_unchecked_mut();
        let slot = waiting.slot();
        waiting.op().inbox.map(|_| slot.read())
    }
}

/// A future of the next message: see [`Inbox::receive_async`].
#[must_use = "futures do nothing unless awaited"]
pub struct ReceiveFuture<'a, T>(pub(super) Waiting<ReceiveIntoSlot<'a, T>>);

impl<T> ReceiveFuture<'_, T> {
    /// Has it not begun to wait, or is it over?
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.0.is_idle()
    }
}

impl<T> Future for ReceiveFuture<'_, T> {
    type Output = Option<T>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: the field is pinned as the whole is.
        let mut waiting = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        ready!(waiting.as_mut().poll(cx));
        Poll::Ready(take(waiting))
    }
}

impl<T> fmt::Debug for ReceiveFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceiveFuture").finish_non_exhaustive()
    }
}
