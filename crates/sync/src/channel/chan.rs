//! A channel's state and its operations under the lock.
//!
//! **Invariants**, whenever the lock is free. If receivers wait, the buffer is empty and no sender
//! waits (but for those whose time is over, and a select that waits for both: it does not meet
//! itself). If senders wait, the buffer is full (holds `limit` messages or more). Closed: nobody
//! begins to wait, and nothing is sent any more; those who still wait are told some at a time, and
//! nobody else serves them meanwhile. While the first message is lent to a peeker
//! other invariants hold: see [`lend`].
//!
//! A message goes straight to the receiver that waits longest, into its entry: it finds it there
//! when it goes on, without the lock. A receiver that takes a message out of a full buffer moves
//! that of the first waiting sender in.
//!
//! The lock is [biased](myriad_base::lock::biased): inside, no user code runs. So waiters are taken
//! out under it, and woken or [discarded](Waiter::discard) without it; messages are moved (from
//! slot to slot, see [`super::ring`]), never dropped or cloned inside. (But for the allocator:
//! the ring grows under the lock, so a global allocator must not use channels.)
//!
//! **Rejected.** A lock-free queue: 21 to 25 ns a message and waiters beside it; the biased lock
//! costs 4 ns, and all in it is sequential code. Waking a receiver and letting it try again: it
//! takes the lock once more, and may find nothing.

use super::ends::{self, FIRST};
use super::entry::{CLOSED, ClaimWith, DONE, Entry, List, PEEKS};
use super::look::{Look, Looks};
use super::ring::{Messages, Ring};
use crate::guarded::{self, Guarded};
use crate::select::Link;
use crate::wake_list::WakeList;
use lend::Lent;
use myriad_base::sys::atomic::{AtomicU32, Ordering::Relaxed};
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, InHand, MultiWait, Waiter};

mod lend;
mod state;

pub(super) struct Chan<T> {
    state: Guarded<ChanState<T>, Counts>,
}

/// See [`super::ends`].
struct Counts {
    /// Who keeps the channel's memory.
    holders: AtomicU32,
    senders: AtomicU32,
    receivers: AtomicU32,
}

/// Last, beside the lock, stands what each operation writes: three times of four in one cache line
/// then. (Aligned to a line, a channel would take 64 bytes more, and its memory longer to get.)
#[repr(C)]
pub(super) struct ChanState<T> {
    limit: usize,
    /// While fewer are buffered, a send needs neither memory nor anything else: the limit, or the
    /// ring's memory, or 0 once the channel is closed, and while a message is lent.
    fast_room: usize,
    waiting_receivers: List<T>,
    waiting_senders: List<T>,
    /// What few channels need, since they first did.
    seldom: Option<Box<Seldom<T>>>,
    /// What is not as most often, bit by bit ([`lend`] has them): so the short paths ask for all of
    /// it at once.
    slow_flags: u8,
    when_full: WhenFull,
    /// A message went past the buffer, from hand to hand. (What has been in the buffer is counted
    /// there.)
    handed_over: bool,
    /// See [`version`](Self::version).
    changes: u32,
    buffer: Ring<T>,
}

/// Apart, so that a channel takes 104 bytes and not 128: a task that waits often has a channel of
/// its own.
struct Seldom<T> {
    lent: Lent<T>,
    /// Those who wait for the close; their slots stay empty.
    close_waiters: List<T>,
    looks: Looks,
}

const _: () = assert!(cfg!(loom) || size_of::<Chan<u64>>() == 104 || size_of::<usize>() != 8);

/// What a send does at a full buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    Wait,
    DropOldest,
    DropNewest,
}

/// The state of a locked channel.
pub(super) type Locked<'a, T> = guarded::Locked<'a, ChanState<T>>;

/// What became of a send under the lock.
pub(super) enum Sent {
    /// The message is moved out of its slot. A waiter is to be woken afterwards.
    Done(Option<Waiter>),
    /// It is done, and in its slot is a message to be dropped, without the lock: this one, or the
    /// oldest.
    Dropped,
    Full,
    Closed,
}

/// What became of a receive under the lock.
pub(super) enum Received {
    /// A message is moved into the slot. A waiter is to be woken afterwards.
    Done(Option<Waiter>),
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
        let state = ChanState {
            limit,
            fast_room: 0,
            waiting_receivers: List::new(),
            waiting_senders: List::new(),
            seldom: None,
            slow_flags: 0,
            when_full,
            handed_over: false,
            changes: 0,
            buffer: Ring::new(),
        };
        let counts =
            Counts { holders: AtomicU32::new(2), senders: AtomicU32::new(FIRST), receivers: AtomicU32::new(FIRST) };
        Chan { state: Guarded::with(state, counts) }
    }

    /// Locks the channel. Until it is dropped no user code runs: no message is dropped, no waker
    /// cloned, called or dropped.
    #[inline(always)]
    pub(super) fn lock(&self, caller: Caller) -> Locked<'_, T> {
        self.state.lock(caller)
    }

    /// The same for a future at the begin of a poll. `None`: it has done enough in a row, and is to
    /// be pending.
    #[inline(always)]
    pub(super) fn poll_lock(&self) -> Option<Locked<'_, T>> {
        self.state.poll_lock()
    }

    /// Runs `f` under the lock.
    #[inline(always)]
    pub(super) fn locked<R>(&self, caller: Caller, f: impl FnOnce(&mut ChanState<T>) -> R) -> R {
        self.state.locked(caller, f)
    }

    /// Fails all that wait, and all that come later, but for what is buffered.
    #[cold]
    pub(super) fn close(&self) -> bool {
        self.close_and(|_| ()).0
    }

    /// The same, and `f` under the same lock.
    pub(super) fn close_and<R>(&self, f: impl FnOnce(&mut ChanState<T>) -> R) -> (bool, R) {
        let caller = Caller::get();
        let (was_open, waiting, result) = self.locked(caller, |state| {
            state.fast_room = 0;
            let nobody = state.nobody_waits();
            (state.close(), !nobody, f(state))
        });
        if waiting {
            self.end_all();
        }
        (was_open, result)
    }

    /// Wakes all that wait at a closed channel. (Nobody begins to wait any more.)
    fn end_all(&self) {
        WakeList::wake_all(|woken| self.locked(Caller::get(), |state| state.end_some(woken)));
    }

    /// How many ends a side has: see [`super::ends`], also for what else stands in the word.
    pub(super) fn count(&self, of: Side) -> &AtomicU32 {
        match of {
            Side::Send => &self.state.beside.senders,
            Side::Receive => &self.state.beside.receivers,
        }
    }

    /// How many keep the channel's memory: see [`super::ends`].
    pub(super) fn holders(&self) -> &AtomicU32 {
        &self.state.beside.holders
    }

    /// Takes the entry of a wait that is given up out of its list, if it is still in it. The waiter
    /// comes back then, to be discarded when the caller has done the rest.
    ///
    /// # Safety
    /// `entry` is live, its wait is the caller's to end, and it is in no list but that of side `of`
    /// of this channel.
    pub(super) unsafe fn give_up(&self, caller: Caller, entry: *mut Entry<T>, of: Side) -> InHand {
        // SAFETY: `entry` is live, the caller's to end, and in no list but this one (this
        // function's contract); the channel is locked.
        InHand::new(self.locked(caller, |state| unsafe { state.leave_line(entry, of) }))
    }

    /// The time of a wait is over: takes the entry out of its list, and looks once more whether it
    /// can be done now. For the time may have been over while others woke those before it: the
    /// channel was closed, and others know.
    ///
    /// # Safety
    /// `entry` is live, its wait is the caller's to end, and it is in no list but that of side `of`
    /// of this channel. `retry` keeps to the lock's rule, and to what the entry's state says.
    pub(super) unsafe fn give_up_late<R>(
        &self,
        caller: Caller,
        entry: *mut Entry<T>,
        of: Side,
        retry: impl FnOnce(&mut ChanState<T>) -> R,
    ) -> R {
        // SAFETY: `entry` is live, the caller's to end, and in no list but this one (this
        // function's contract); the channel is locked.
        let (waiter, result) = self.locked(caller, |state| unsafe { (state.leave_line(entry, of), retry(state)) });
        drop(InHand::new(waiter));
        result
    }

    /// Gives back a message that was handed to a receiver which does not want it any more: to the
    /// next, or before all others.
    ///
    /// # Safety
    /// `slot` holds a message, which is moved out.
    pub(super) unsafe fn give_back(&self, caller: Caller, slot: *const T) {
        let waiter = self.locked(caller, |state| {
            // SAFETY: `slot` holds a message, which is moved once (this function's contract). The
            // channel is locked, so a claimed receiver's entry is ours until `end`, and its slot is
            // empty.
            unsafe {
                if state.slow_flags != 0 {
                    return state.give_back_slow(slot);
                }
                if let Some((entry, waiter)) = state.waiting_receivers.claim_first() {
                    (*entry).put(slot);
                    Entry::end(entry, DONE);
                    return Some(waiter);
                }
                // Perhaps one more than `limit`, for a while: the invariants hold.
                state.buffer.push_front(slot);
                state.has_come_back();
                None
            }
        });
        if let Some(waiter) = waiter {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { caller.wake(waiter) };
        }
    }

    /// Nobody has a share any more, nor waits: what is left in it, before it is freed.
    pub(super) fn take_rest(&mut self) -> Messages<T> {
        self.state.with_own(|state| {
            debug_assert!(state.is_closed() && state.nobody_waits());
            state.drain()
        })
    }

    /// How many ends this side has now.
    pub(super) fn ends(&self, of: Side) -> usize {
        // Relaxed: a number, which others may change at any time.
        ends::ends(self.count(of).load(Relaxed))
    }
    /// Has no message ever been sent, and none been received? (Not exact where one came back.)
    pub(super) fn are_idle(&self) -> (bool, bool) {
        self.locked(Caller::get(), |state| {
            let received = state.handed_over || state.buffer.taken() != 0;
            (!received && state.len() == 0, !received)
        })
    }
    pub(super) fn is_full(&self) -> bool {
        self.locked(Caller::get(), |state| state.len() >= state.limit)
    }
    pub(super) fn len(&self) -> usize {
        self.locked(Caller::get(), |state| state.len())
    }
    pub(super) fn is_closed(&self) -> bool {
        self.locked(Caller::get(), |state| state.is_closed())
    }
    pub(super) fn capacity(&self) -> Option<usize> {
        let limit = self.locked(Caller::get(), |state| state.limit);
        (limit != usize::MAX).then_some(limit)
    }
}

/// Which side of the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Send,
    Receive,
}
