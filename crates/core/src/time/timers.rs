//! The pending timers of one worker: a wheel under a lock that is usually biased to that worker.
//!
//! Other workers come in too: a future that has moved removes its timer, and an idle worker fires what a busy one is late
//! with. Foreign threads' futures use the first worker of the global runtime.
//!
//! **Invariants.** A node is touched under the lock only. What fires is settled under the lock, before the node is let
//! go: of a blocked task its claim (then it stays blocked until we wake it, after the lock), of a future its waker is
//! moved out. So nobody looks at a node that its owner has taken back.
//!
//! **Who looks at the clock.** The worker itself every few turns while timers are pending; any worker that finds nothing
//! to do; and a sleeper wakes up for the earliest timer of all workers. A setter of an earlier one wakes a sleeper:
//! `next` | light | `sleepers` against `sleepers` | heavy | `next` in [`Timers::until_next`].

use super::sleep::SleepState;
use super::timeout;
use super::wheel::{TimerNode, Wheel};
use crate::cancel::region::Asked;
use crate::lock::biased::{BiasedGuard, BiasedLock};
use crate::sched::node::Node;
use crate::sched::worker::{self, OFTEN, SELDOM, Worker, wake_node};
use crate::sys::atomic::Ordering::*;
use crate::sys::clock::Instant;
use crate::sys::fence::Fence;
use crate::wait::Wait;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU64;
use std::task::Waker;
use std::time::Duration;

/// `fire` of a node whose `data` is a [`Wait`].
pub(crate) const FIRE_WAIT: u16 = 0;
/// `fire` of a node whose `data` is a [`SleepState`].
pub(crate) const FIRE_SLEEP: u16 = 1;

/// `fire` of a node whose `data` is a [`Region`](crate::cancel::region::Region) of a task.
pub(crate) const FIRE_REGION: u16 = 2;

/// See the module's header.
#[derive(Debug)]
pub struct Timers {
    lock: BiasedLock,
    wheel: UnsafeCell<Wheel>,
    /// When something is due next, in nanoseconds; written under the lock.
    next: AtomicU64,
}

// SAFETY: the wheel is reached under the lock only.
unsafe impl Sync for Timers {}

impl Default for Timers {
    fn default() -> Self {
        Timers { lock: BiasedLock::new(), wheel: UnsafeCell::new(Wheel::new(0)), next: AtomicU64::new(u64::MAX) }
    }
}

/// The wheel, locked.
pub(crate) struct Locked<'a> {
    timers: &'a Timers,
    _guard: BiasedGuard<'a>,
}

impl Locked<'_> {
    #[allow(clippy::mut_from_ref)]
    fn wheel(&self) -> &mut Wheel {
        // SAFETY: the guard is held, and each reference lives for one call only.
        unsafe { &mut *self.timers.wheel.get() }
    }
    fn publish_next(&self) {
        self.timers.next.store(self.wheel().next_event().unwrap_or(u64::MAX), Relaxed);
    }
    /// Sets a timer. True: it is the earliest, and the caller calls [`Timers::announce`] without the lock.
    ///
    /// # Safety
    /// As [`Wheel::insert`].
    pub(crate) unsafe fn insert(&self, node: *mut TimerNode, deadline: Instant) -> bool {
        let before = self.timers.next.load(Relaxed);
        // SAFETY: the caller.
        unsafe { self.wheel().insert(node, deadline.as_nanos()) };
        self.publish_next();
        // Of the wheel's own times: it may want to be looked at before a deadline.
        self.timers.next.load(Relaxed) < before
    }
    /// Takes a timer out; false if it has fired.
    ///
    /// # Safety
    /// As [`Wheel::remove`].
    pub(crate) unsafe fn remove(&self, node: *mut TimerNode) -> bool {
        // SAFETY: the caller.
        let removed = unsafe { self.wheel().remove(node) };
        self.publish_next();
        removed
    }
}

impl Timers {
    /// For a worker that begins anew, perhaps with another clock. Nothing is in the wheel: see [`abandon`](Self::abandon).
    pub(crate) fn reset(&self, w: &'static Worker) {
        let locked = self.lock(Some(w));
        *locked.wheel() = Wheel::new(0);
        locked.publish_next();
    }

    /// The worker has ended. Blocked tasks never go on; but a [`Sleep`](super::Sleep) may have left the runtime, so it is
    /// taken out, and woken, to set its timer elsewhere.
    pub(crate) fn abandon(&self) {
        let mut wakers: Vec<Waker> = Vec::new();
        {
            let locked = self.lock(None);
            // SAFETY: each node of the chain is looked at once, its successor read before.
            let mut timer = unsafe { locked.wheel().take_all() };
            while !timer.is_null() {
                let this = timer;
                // SAFETY: in the chain. Under the lock its owner cannot have taken it back.
                unsafe {
                    timer = TimerNode::next(this);
                    if (*this).fire == FIRE_SLEEP {
                        wakers.extend(SleepState::abandon((*this).data.cast::<SleepState>()));
                    }
                }
            }
            locked.publish_next();
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Locks the wheel. Inside: nothing foreign, nothing that blocks.
    #[inline]
    pub(crate) fn lock(&self, w: Option<&'static Worker>) -> Locked<'_> {
        // SAFETY: the worker is the calling thread's; the holders of a `Locked` keep to the rule.
        let guard = unsafe { self.lock.lock(w.and_then(|w| w.biaser.get())) };
        Locked { timers: self, _guard: guard }
    }

    /// After the earliest timer was set, without the lock: who sleeps too long looks up.
    pub(crate) fn announce(&self, owner: &'static Worker, deadline: Instant) {
        let me = worker::current();
        if let Some(w) = me
            && std::ptr::eq(w, owner)
        {
            w.turns.set(OFTEN);
        }
        // Light (a full fence for a foreign thread): pairs with the heavy fence in `Crew::sleep`.
        me.map_or(Fence::foreign(), |w| w.member.deque.fence).light();
        if owner.hub.crew.has_sleepers() && deadline.as_nanos() < owner.hub.next_look.load(Relaxed) {
            owner.hub.crew.wake_one();
        }
    }

    /// The owner's look at the clock.
    pub(crate) fn poll(&self, w: &'static Worker) {
        let next = self.next.load(Relaxed);
        if next == u64::MAX {
            w.turns.set(SELDOM);
            return;
        }
        w.turns.set(OFTEN);
        let now = w.hub.now();
        if now.as_nanos() >= next {
            self.fire(w, now);
        }
    }

    /// An idle worker's look at all timers of the runtime. True: some fired.
    pub(crate) fn poll_all(&self, w: &'static Worker) -> bool {
        let mut now = None;
        let mut any = false;
        for other in w.hub.workers() {
            let next = other.timers.next.load(Relaxed);
            if next != u64::MAX && now.get_or_insert_with(|| w.hub.now()).as_nanos() >= next {
                any |= other.timers.fire(w, now.expect("set above"));
            }
        }
        any
    }

    /// How long a worker that is about to sleep may: until the earliest timer of all.
    pub(crate) fn until_next(w: &'static Worker) -> Option<Duration> {
        let next = w.hub.workers().iter().map(|w| w.timers.next.load(Relaxed)).min().unwrap_or(u64::MAX);
        if next == u64::MAX {
            return None;
        }
        if w.hub.is_manual() {
            // The clock may have moved before all knew that we sleep.
            return (next <= w.hub.now().as_nanos()).then_some(Duration::ZERO);
        }
        w.hub.next_look.fetch_min(next, Relaxed);
        Some(Instant::from_nanos(next) - w.hub.now())
    }

    /// Fires what is due.
    #[cold]
    fn fire(&self, w: &'static Worker, now: Instant) -> bool {
        let mut blocked: *mut Node = null_mut();
        let mut last: *mut Node = null_mut();
        let mut wakers: Vec<Waker> = Vec::new();
        let mut asked: Vec<Asked> = Vec::new();
        {
            let locked = self.lock(Some(w));
            // SAFETY: each node of the chain is settled below, once, its successor read before.
            let mut timer = unsafe { locked.wheel().advance(now.as_nanos()) };
            while !timer.is_null() {
                let this = timer;
                // SAFETY: in the chain and not settled yet. Under the lock its owner cannot have taken it back.
                unsafe {
                    timer = TimerNode::next(this);
                    if (*this).fire == FIRE_WAIT {
                        let wait = (*this).data.cast::<Wait>();
                        if Wait::claim_timeout(wait) {
                            // Its task stays blocked until we wake it: the chain may go through its node.
                            let node = Wait::node(wait);
                            (*node).next.with_mut(|next| *next = null_mut());
                            if last.is_null() {
                                blocked = node;
                            } else {
                                (*last).next.with_mut(|next| *next = node);
                            }
                            last = node;
                        }
                    } else if (*this).fire == FIRE_REGION {
                        asked.push(timeout::fire((*this).data));
                    } else {
                        wakers.extend(SleepState::fire((*this).data.cast::<SleepState>()));
                    }
                }
            }
            locked.publish_next();
        }
        let any = !blocked.is_null() || !wakers.is_empty() || !asked.is_empty();
        while !blocked.is_null() {
            // SAFETY: claimed above, so still blocked; its successor is read before it is woken.
            unsafe {
                let next = (*blocked).next.with(|next| *next);
                wake_node(Some(w), blocked);
                blocked = next;
            }
        }
        asked.into_iter().for_each(Asked::ask);
        wakers.into_iter().for_each(Waker::wake);
        any
    }
}
