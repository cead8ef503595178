//! A channel's state and its operations under the lock.
//!
//! **Invariants**, whenever the lock is free. If receivers wait, the buffer is empty and no sender waits (but for those whose
//! time is over, and a select that waits for both: it does not meet itself). If senders wait, the buffer is full (holds `limit`
//! messages or more). Closed: nobody waits, nobody begins to. While the first message is lent to somebody who looks at it
//! other invariants hold: see [`lend`].
//!
//! A message goes straight to the receiver that waits longest, into its entry: it finds it there when it goes on, without
//! the lock. A receiver that takes a message out of a full buffer moves that of the first waiting sender in.
//!
//! The lock is [biased](myriad_core::lock::biased): inside, no user code runs. So targets are taken out under it, and woken or
//! [discarded](Target::discard) without it; messages are moved (from place to place, see [`super::ring`]), never dropped
//! or cloned inside. (But for the allocator: the ring grows under the lock, so a global allocator must not use channels.)
//!
//! **Rejected.** A lock-free queue: 21 to 25 ns a message and waiters beside it; the biased lock costs 4 ns, and all in it is
//! sequential code. Waking a receiver and letting it try again: it takes the lock once more, and may find nothing.

use super::entry::{CLOSED, DONE, Entry, LINKED, LOOKS, List, Met};
use super::ring::{Messages, Ring};
use crate::select::Link;
use lend::{LENT, Lent};
use myriad_core::lock::biased::{BiasedGuard, BiasedLock};
use myriad_core::sys::atomic::{AtomicBool, AtomicU32};
use myriad_core::sys::cell::UnsafeCell;
use myriad_core::sys::mutant::on;
use myriad_core::wait::{Group, Here, InHand, Target};
use std::mem::ManuallyDrop;

mod lend;

pub(super) struct Chan<T> {
    lock: BiasedLock,
    /// One side has let go of the channel for good; the other frees it.
    pub(super) left: AtomicBool,
    senders: AtomicU32,
    receivers: AtomicU32,
    state: UnsafeCell<State<T>>,
}

pub(super) struct State<T> {
    buffer: Ring<T>,
    limit: usize,
    /// While fewer are buffered, a send needs neither memory nor anything else: the limit, or the ring's memory, or 0 once
    /// the channel is closed, and while a message is lent.
    quick: usize,
    waiting_receivers: List<T>,
    waiting_senders: List<T>,
    /// What is not as most often, bit by bit ([`lend`] has them): so the short paths ask for all of it at once.
    odd: u8,
    when_full: WhenFull,
    /// Since the first look at a message.
    lent: Option<Box<Lent<T>>>,
}

/// What a send does at a full buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    Wait,
    DropOldest,
    DropNewest,
}

// SAFETY: the state is reached under the lock; messages go from thread to thread.
unsafe impl<T: Send> Sync for Chan<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Chan<T> {}

/// The state of a locked channel.
pub(super) struct Locked<'a, T> {
    state: *mut State<T>,
    _guard: BiasedGuard<'a>,
}

impl<T> std::ops::Deref for Locked<'_, T> {
    type Target = State<T>;
    #[inline(always)]
    fn deref(&self) -> &State<T> {
        // SAFETY: the lock is held, and the channel outlives the guard.
        unsafe { &*self.state }
    }
}

impl<T> std::ops::DerefMut for Locked<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut State<T> {
        // SAFETY: as above; `self` is the only way to the state.
        unsafe { &mut *self.state }
    }
}

/// What became of a send under the lock.
pub(super) enum Sent {
    /// The message is moved out of its place. A target is to be woken afterwards.
    Done(Option<Target>),
    /// It is done, and in its place is a message to be dropped, without the lock: this one, or the oldest.
    Dropped,
    Full,
    Closed,
}

/// What became of a receive under the lock.
pub(super) enum Received {
    /// A message is moved into the place. A target is to be woken afterwards.
    Done(Option<Target>),
    Empty,
    Closed,
}

/// How a wait has ended.
pub(super) enum Waited {
    Done,
    Timeout,
    Closed,
    /// By a cancellation, and is off all lists: it is to arrive.
    Cancelled,
}

impl<T> Chan<T> {
    pub(super) fn new(limit: usize, when_full: WhenFull) -> Chan<T> {
        Chan {
            lock: BiasedLock::new(),
            left: AtomicBool::new(false),
            senders: AtomicU32::new(1),
            receivers: AtomicU32::new(1),
            state: UnsafeCell::new(State {
                buffer: Ring::new(),
                limit,
                quick: 0,
                waiting_receivers: List::new(),
                waiting_senders: List::new(),
                odd: 0,
                when_full,
                lent: None,
            }),
        }
    }

    /// Locks the channel. Until it is dropped no user code runs: no message is dropped, no waker cloned, called or dropped.
    #[inline(always)]
    pub(super) fn lock(&self, here: Here) -> Locked<'_, T> {
        // SAFETY: the operations of this module keep to the lock's rule: short, no user code, no other lock.
        let guard = unsafe { here.lock(&self.lock) };
        Locked { state: self.state.with_mut(|state| state), _guard: guard }
    }

    /// The same for a future at the begin of a poll. `None`: it has done enough in a row, and is to be pending.
    #[inline(always)]
    pub(super) fn poll_lock(&self) -> Option<Locked<'_, T>> {
        // SAFETY: as in `lock`.
        let guard = unsafe { Here::poll_lock(&self.lock) }?;
        Some(Locked { state: self.state.with_mut(|state| state), _guard: guard })
    }

    /// Runs `f` under the lock.
    #[inline(always)]
    pub(super) fn locked<R>(&self, here: Here, f: impl FnOnce(&mut State<T>) -> R) -> R {
        f(&mut self.lock(here))
    }

    /// Fails all that wait, and all that come later, but for what is buffered.
    #[cold]
    pub(super) fn close(&self) -> bool {
        self.close_and(|_| ()).0
    }

    /// The same, and `f` under the same lock.
    pub(super) fn close_and<R>(&self, f: impl FnOnce(&mut State<T>) -> R) -> (bool, R) {
        let here = Here::get();
        let (was_open, waiting, result) = self.locked(here, |state| {
            state.quick = 0;
            let waiting = !state.waiting_receivers.is_empty() || !state.waiting_senders.is_empty();
            (state.close(), waiting, f(state))
        });
        if waiting {
            self.end_all(here);
        }
        (was_open, result)
    }

    /// Wakes all that wait at a closed channel. One by one: wakers are user code, and nobody begins to wait any more.
    fn end_all(&self, here: Here) {
        while let Some(target) = self.end_one(here) {
            // SAFETY: claimed, taken out, and woken once.
            unsafe { here.wake(target) };
        }
    }

    /// Takes out one that waits at a closed channel, to be woken.
    fn end_one(&self, here: Here) -> Option<Target> {
        self.locked(here, |state| {
            // SAFETY: locked.
            unsafe {
                // What is lent may come back to a receiver.
                let first = if state.is_lent() { None } else { state.waiting_receivers.claim_first() };
                first.or_else(|| state.waiting_senders.claim_first()).map(|(entry, target)| {
                    Entry::end(entry, CLOSED);
                    target
                })
            }
        })
    }

    /// How many ends a side has.
    pub(super) fn count(&self, of: Side) -> &AtomicU32 {
        match of {
            Side::Send => &self.senders,
            Side::Receive => &self.receivers,
        }
    }

    /// Takes the entry of a wait that is given up out of its list, if it is still in it. The target comes back then, to be
    /// discarded when the caller has done the rest.
    ///
    /// # Safety
    /// The entry is in no other channel's list.
    pub(super) unsafe fn give_up(&self, here: Here, entry: *mut Entry<T>, of: Side) -> InHand {
        InHand::new(self.locked(here, |state| {
            // SAFETY: its owner asks, so it is live. Linked: under the lock it stays so.
            unsafe {
                if !matches!((*entry).state(), LINKED | LOOKS) && !on("give-up-unchecked") {
                    return None;
                }
                let list = match of {
                    Side::Send => &mut state.waiting_senders,
                    Side::Receive => &mut state.waiting_receivers,
                };
                let target = list.remove(entry);
                (*entry).reset();
                Some(target)
            }
        }))
    }

    /// Gives back a message that was handed to a receiver which does not want it any more: to the next, or before all
    /// others.
    ///
    /// # Safety
    /// `place` holds a message, which is moved out.
    pub(super) unsafe fn give_back(&self, here: Here, place: *const T) {
        let target = self.locked(here, |state| {
            // SAFETY: locked; the caller.
            unsafe {
                if state.odd != 0 {
                    return state.give_back_oddly(place);
                }
                if let Some((entry, target)) = state.waiting_receivers.claim_first() {
                    (*entry).put(place);
                    Entry::end(entry, DONE);
                    return Some(target);
                }
                // Perhaps one more than `limit`, for a while: the invariants hold.
                state.buffer.push_front(place);
                None
            }
        });
        if let Some(target) = target {
            // SAFETY: claimed, and woken once.
            unsafe { here.wake(target) };
        }
    }

    /// Nobody has a share any more, nor waits: what is left in it, before it is freed. (In a model: all that was done with the
    /// state came before.)
    pub(super) fn take_rest(&mut self) -> Messages<T> {
        self.state.with_mut(|state| {
            // SAFETY: nobody else has the channel.
            let state = unsafe { &mut *state };
            debug_assert!(state.is_closed() && state.waiting_receivers.is_empty() && state.waiting_senders.is_empty());
            state.drain()
        })
    }

    pub(super) fn len(&self) -> usize {
        self.locked(Here::get(), |state| state.len())
    }
    pub(super) fn is_closed(&self) -> bool {
        self.locked(Here::get(), |state| state.is_closed())
    }
    pub(super) fn capacity(&self) -> Option<usize> {
        let limit = self.locked(Here::get(), |state| state.limit);
        (limit != usize::MAX).then_some(limit)
    }
}

/// Which side of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Send,
    Receive,
}

impl<T> State<T> {
    /// Takes out what is buffered: nobody will receive it. The channel is closed, and the last receiver gone: a message that is still
    /// lent is so to a future that was forgotten, and does not come back.
    pub(super) fn drain(&mut self) -> Messages<T> {
        let buffered = std::mem::replace(self.buffered(), Ring::new());
        self.forget_loan();
        Messages(buffered)
    }

    /// Sends now, if that takes nothing but room in the buffer. (Small, to stand in the caller's code; by value, so that a
    /// message stays in registers.)
    #[inline]
    pub(super) fn quick_send(&mut self, value: ManuallyDrop<T>) -> Result<(), ManuallyDrop<T>> {
        if self.buffer.len() < self.quick && self.waiting_receivers.is_empty() {
            // SAFETY: `quick` is at most the ring's memory.
            unsafe { self.buffer.push_value(value) };
            return Ok(());
        }
        Err(value)
    }

    /// Is a message buffered, and does no sender wait for its room?
    #[inline(always)]
    pub(super) fn receives_quickly(&self) -> bool {
        self.buffer.len() > 0 && self.waiting_senders.is_empty()
    }

    /// # Safety
    /// It [receives quickly](Self::receives_quickly).
    #[inline]
    pub(super) unsafe fn quick_recv(&mut self) -> T {
        debug_assert!(self.receives_quickly());
        // SAFETY: the caller: not empty.
        unsafe { self.buffer.pop_value() }
    }

    /// Must a receive wait? (False: perhaps.)
    #[inline(always)]
    pub(super) fn has_nothing(&self) -> bool {
        self.buffer.len() == 0 && self.waiting_senders.is_empty() && self.odd == 0
    }

    /// Must a send wait? (False: perhaps.)
    #[inline(always)]
    pub(super) fn has_no_room(&self) -> bool {
        self.buffer.len() >= self.limit
            && self.waiting_receivers.is_empty()
            && self.odd == 0
            && self.when_full == WhenFull::Wait
    }

    /// Sends now, if that is possible.
    ///
    /// # Safety
    /// `place` holds a message; it is moved out if the answer is `Done`.
    #[inline(always)]
    pub(super) unsafe fn try_send(&mut self, place: *mut T) -> Sent {
        // SAFETY: locked; the entry is ours until `end`; the caller.
        unsafe {
            if self.odd != 0 {
                return self.try_send_oddly(place);
            }
            if !self.waiting_receivers.is_empty()
                && let Some((entry, target)) = self.waiting_receivers.claim_first()
            {
                (*entry).put(place);
                Entry::end(entry, DONE);
                return Sent::Done(Some(target));
            }
            self.buffer_or_refuse(place)
        }
    }

    /// The same where nobody waits for it. (Apart, so that the hand-over above stands in its callers' code.)
    ///
    /// # Safety
    /// As there.
    unsafe fn buffer_or_refuse(&mut self, place: *mut T) -> Sent {
        // SAFETY: the caller.
        unsafe {
            if self.buffer.len() >= self.limit {
                match self.when_full {
                    WhenFull::Wait => return Sent::Full,
                    WhenFull::DropNewest => {}
                    WhenFull::DropOldest => self.buffer.replace_first(place),
                }
                return Sent::Dropped;
            }
            self.buffer.push(place);
        }
        self.quick = self.limit.min(self.buffer.capacity());
        Sent::Done(None)
    }

    /// Receives now, if that is possible.
    ///
    /// # Safety
    /// `place` is valid, and empty; a message is moved in if the answer is `Done`.
    pub(super) unsafe fn try_recv(&mut self, place: *mut T) -> Received {
        // SAFETY: locked; the entry is ours until `end`; the caller.
        unsafe {
            if self.buffer.len() > 0 {
                self.buffer.pop(place);
                if self.waiting_senders.is_empty() || self.buffer.len() >= self.limit {
                    return Received::Done(None);
                }
                let target = self.waiting_senders.claim_first().map(|(entry, target)| {
                    self.buffer.push((*entry).place());
                    Entry::end(entry, DONE);
                    target
                });
                return Received::Done(target);
            }
            if self.odd != 0 {
                return self.try_recv_oddly(place);
            }
            self.meet(place)
        }
    }

    /// Receives from a sender that waits at a rendezvous.
    ///
    /// # Safety
    /// As [`try_recv`](Self::try_recv); nothing is buffered.
    #[inline(always)]
    unsafe fn meet(&mut self, place: *mut T) -> Received {
        // SAFETY: as there.
        unsafe {
            if !self.waiting_senders.is_empty()
                && let Some((entry, target)) = self.waiting_senders.claim_first()
            {
                place.copy_from_nonoverlapping((*entry).place(), 1);
                Entry::end(entry, DONE);
                return Received::Done(Some(target));
            }
        }
        Received::Empty
    }

    /// Begins to wait.
    ///
    /// # Safety
    /// As [`List::push`]; the operation was just found to be impossible, under the same lock.
    #[inline(always)]
    pub(super) unsafe fn wait(&mut self, of: Side, entry: *mut Entry<T>, target: Target) {
        // SAFETY: the caller.
        unsafe {
            match of {
                Side::Send => self.waiting_senders.push(entry, target),
                Side::Receive => self.waiting_receivers.push(entry, target),
            }
        }
    }

    /// Sends for one that waits in other lists meanwhile; if that is not possible now, begins to wait here too. The target of
    /// a receiver is to be woken afterwards.
    ///
    /// # Safety
    /// As [`List::push`]. The entry's slot holds a message; it is moved out if the entry is `DONE` afterwards. `me` is the caller's
    /// own wait.
    pub(super) unsafe fn send_or_wait(&mut self, entry: *mut Entry<T>, me: Group) -> (Link, Option<Target>) {
        // Of another kind a send never waits, so it was done by an attempt.
        debug_assert_eq!(self.when_full, WhenFull::Wait);
        // SAFETY: the caller; locked.
        unsafe {
            if self.odd != 0 {
                return self.send_or_wait_oddly(entry, me);
            }
            match self.waiting_receivers.claim_first_with(me) {
                Met::Partner(receiver, target) => {
                    (*receiver).put((*entry).place());
                    Entry::end(receiver, DONE);
                    Entry::end(entry, DONE);
                    return (Link::Done, Some(target));
                }
                Met::Over => return (Link::Over, None),
                Met::Nobody => {}
            }
            if self.buffer.len() < self.limit {
                let link = Self::end_alone(entry, DONE, me);
                if link == Link::Done {
                    self.buffer.push((*entry).place());
                    self.quick = self.limit.min(self.buffer.capacity());
                }
                return (link, None);
            }
            self.wait(Side::Send, entry, me.target());
        }
        (Link::Linked, None)
    }

    /// Receives for one that waits in other lists meanwhile, as [`send_or_wait`](Self::send_or_wait).
    ///
    /// # Safety
    /// As there, but the slot is empty, and is filled if the entry is `DONE` afterwards.
    pub(super) unsafe fn receive_or_wait(&mut self, entry: *mut Entry<T>, me: Group) -> (Link, Option<Target>) {
        // SAFETY: the caller; locked.
        unsafe {
            if self.odd & LENT != 0 {
                return self.receive_or_wait_lent(entry, me);
            }
            if self.buffer.len() > 0 {
                let link = Self::end_alone(entry, DONE, me);
                if link == Link::Done
                    && let Received::Done(target) = self.try_recv((*entry).place())
                {
                    return (link, target);
                }
                return (link, None);
            }
            match self.waiting_senders.claim_first_with(me) {
                Met::Partner(sender, target) => {
                    (*entry).put((*sender).place());
                    Entry::end(sender, DONE);
                    Entry::end(entry, DONE);
                    return (Link::Done, Some(target));
                }
                Met::Over => return (Link::Over, None),
                Met::Nobody => {}
            }
            if self.is_closed() {
                return (Self::end_alone(entry, CLOSED, me), None);
            }
            self.wait(Side::Receive, entry, me.target());
        }
        (Link::Linked, None)
    }

    /// Ends the caller's own wait, in this way, without a partner.
    ///
    /// # Safety
    /// The entry and the wait are the caller's.
    unsafe fn end_alone(entry: *mut Entry<T>, state: u8, me: Group) -> Link {
        // SAFETY: the caller.
        unsafe {
            if !me.claim() && !on("ended-not-asked") {
                return Link::Over;
            }
            Entry::end(entry, state);
        }
        Link::Done
    }
}
