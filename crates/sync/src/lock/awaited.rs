//! A state that is waited for: what events, countdowns, barriers and [`Once`](super::Once) are.
//!
//! An [`Awaited`] is a state under a biased lock, with the [queue](WaitQueue) of those who wait. A
//! primitive says in an [`Attempt`] when a wait is over; [`InQueue`] makes it an operation that can
//! wait ([`Op`]). The queue is reached here only, and a wait keeps the one that it was made for: so
//! an entry that is linked stays known to its queue, whatever an attempt does.

use super::op::Op;
use super::wait_queue::{ALONE, WaitQueue, release_all};
use crate::entry::Entry;
use crate::guarded::Guarded;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use std::ops::{Deref, DerefMut};

/// See the module's header.
pub(super) struct Awaited<S>(Guarded<Queued<S>>);

/// The state while it is locked.
pub(super) struct Queued<S> {
    state: S,
    wait_queue: WaitQueue,
}

impl<S> Awaited<S> {
    const_fn! {
        pub(super) const fn new(state: S) -> Awaited<S> {
            const { crate::values::no_drop_glue::<S>() };
            Awaited(Guarded::new(Queued { state, wait_queue: WaitQueue::new() }))
        }
    }

    /// Runs `f` under the lock, as [`Guarded::locked`].
    #[inline(always)]
    pub(super) fn locked<R>(&self, caller: Caller, f: impl FnOnce(&mut Queued<S>) -> R) -> R {
        self.0.locked(caller, f)
    }

    /// Wakes those whom [`Queued::all`] let go, without the lock.
    pub(super) fn release_all(&self, all: Option<u64>, outcome: u8) {
        if let Some(generation) = all {
            release_all(&self.0, |queued| &mut queued.wait_queue, generation, outcome);
        }
    }
}

impl<S> Queued<S> {
    /// The first that waits is to go on, alone.
    pub(super) fn one(&mut self) -> Option<Waiter> {
        self.wait_queue.one()
    }

    /// Does anybody wait?
    pub(super) fn is_waited_for(&self) -> bool {
        !self.wait_queue.is_empty()
    }

    /// Those who wait now are to go on: to be followed by [`Awaited::release_all`].
    pub(super) fn all(&mut self) -> Option<u64> {
        (!self.wait_queue.is_empty()).then(|| self.wait_queue.all())
    }
}

impl<S> Deref for Queued<S> {
    type Target = S;
    #[inline(always)]
    fn deref(&self) -> &S {
        &self.state
    }
}

impl<S> DerefMut for Queued<S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

/// What a wait is for.
pub(super) trait Attempt {
    type State;

    /// What a blocked one waits for.
    const REASON: WaitReason;

    /// Under the lock: is the wait over now?
    fn attempt(&mut self, state: &mut Queued<Self::State>) -> bool;

    /// It was, and the lock was given back.
    #[inline(always)]
    fn over(&mut self, _: &Awaited<Self::State>) {}

    /// Under the lock: it was not, and begins to wait.
    #[inline(always)]
    fn begin(&mut self, _: &mut Self::State) {}

    /// Under the lock: the wait is given up. What the queue says of it, and what has become of it:
    /// see [`Op::withdraw`].
    #[inline(always)]
    fn give_up(&mut self, _: &mut Self::State, outcome: u8) -> u8 {
        outcome
    }

    /// As [`Op::undo`]; had it been let go alone?
    #[inline(always)]
    fn undo(&mut self, _: &Awaited<Self::State>, _alone: bool) -> bool {
        false
    }
}

/// A wait in the queue of a state.
pub(super) struct InQueue<'a, A: Attempt> {
    awaited: &'a Awaited<A::State>,
    pub(super) attempt: A,
}

impl<'a, A: Attempt> InQueue<'a, A> {
    pub(super) fn new(awaited: &'a Awaited<A::State>, attempt: A) -> Self {
        InQueue { awaited, attempt }
    }
}

// SAFETY: entries are linked and taken out under the lock, in one queue: nobody else has a way to
// it, and `awaited` stays the same. What an attempt says is asked before its entry is linked, or
// when it is out.
unsafe impl<A: Attempt> Op for InQueue<'_, A> {
    type Slot = u64;
    const REASON: WaitReason = A::REASON;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.awaited).cast()
    }

    #[inline(always)]
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) -> bool {
        let InQueue { awaited, attempt } = self;
        let over = awaited.locked(caller, |queued| {
            let over = attempt.attempt(queued);
            if !over && let Some(waiter) = Waiter::take(waiter) {
                attempt.begin(&mut queued.state);
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { queued.wait_queue.join(entry, waiter) };
            }
            over
        });
        if over {
            attempt.over(awaited);
        }
        over
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in this queue, whose lock
        // is held.
        self.awaited.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<u64>) -> u8 {
        let (outcome, waiter) = self.awaited.locked(caller, |queued| {
            // SAFETY: `entry` was linked by `start` (this method's contract), which joined this
            // queue; the lock is held.
            let (outcome, waiter) = unsafe { queued.wait_queue.leave(entry) };
            (self.attempt.give_up(&mut queued.state, outcome), waiter)
        });
        drop(InHand::new(waiter));
        outcome
    }

    unsafe fn undo(&mut self, _: u8, slot: *mut u64) -> bool {
        // SAFETY: `slot` is that of an entry that `start` linked (this method's contract): `join`
        // has filled it.
        let alone = unsafe { *slot } == ALONE;
        self.attempt.undo(self.awaited, alone)
    }
}
