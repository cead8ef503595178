//! The pending timers of one worker: a wheel under a lock that is usually biased to that worker.
//!
//! Other workers come in too: a future that has moved removes its timer, and an idle worker fires
//! what a busy one is late with. Foreign threads' futures use the first worker of the global
//! runtime.
//!
//! **Invariants.** A node is touched under the lock only. What fires is settled under the lock,
//! before the node is let go: of a blocked task its claim (then it stays blocked until we wake it,
//! after the lock), of a future its waker is moved out. So nobody looks at a node that its owner
//! has taken back.
//!
//! **Nothing is allocated or freed under the lock**: an allocator is foreign code, and may wait for
//! another thread. A wheel gets all its memory, 45 KiB, before its first timer is set. Who fires
//! has room for [`BATCH`] wakers, wakes them without the lock, and comes again for more; what it
//! could not settle goes back into the wheel, where its owner may still remove it.
//!
//! **Who looks at the clock.** The worker itself every few turns while timers are pending; any
//! worker that finds nothing to do; and a sleeper wakes up for the earliest timer of all workers. A
//! setter of an earlier one wakes a sleeper: `next` | light | `sleepers` against `sleepers` | heavy
//! | `next` in [`Timers::until_next`].

pub(crate) mod locked;
mod sleep;

pub(crate) use locked::{Locked, Supplied, Timers};
pub(crate) use sleep::SleepState;

use crate::queue::parked::{Parked, Resumable};
use crate::sched::cancel::cancel_scope::CancelScope;
use crate::sched::cancel::cancel_scope::DueRequest;
use crate::sched::pool::Pool;
use crate::sched::user_code::StoredWaker;
use crate::sched::wait::Wait;
use crate::sched::worker::{self, OFTEN, Peer, Role, SELDOM, Worker, wake_node};
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::clock::Instant;
use myriad_base::sys::fence::Fence;
use myriad_base::wheel::TimerNode;
use std::ptr::null_mut;
use std::time::Duration;

/// `fire` of a node whose `data` is a [`Wait`].
pub(crate) const FIRE_WAIT: u16 = 0;
/// `fire` of a node whose `data` is a [`SleepState`].
pub(crate) const FIRE_SLEEP: u16 = 1;

/// `fire` of a node whose `data` is a
/// [`CancelScope`](crate::sched::cancel::cancel_scope::CancelScope) of a task.
pub(crate) const FIRE_CANCEL_SCOPE: u16 = 2;
/// Wakers of futures that are taken out at a time.
pub(crate) const BATCH: usize = 16;

impl Timers {
    /// For a worker that begins anew, perhaps with another clock. Nothing is in the wheel: see
    /// [`abandon`](Self::abandon).
    pub(crate) fn reset(&self, w: &Worker) {
        let locked = self.lock(Some(w));
        locked.wheel().restart(0);
        locked.publish_next();
    }

    /// The worker has ended. Blocked tasks never go on; but a [`Sleep`](crate::time::Sleep) may
    /// have left the runtime, so it is taken out, and woken, to set its timer elsewhere.
    pub(crate) fn abandon(&self) {
        let mut wakers = Wakers::new();
        {
            let locked = self.lock(None);
            // SAFETY: put back as it came.
            unsafe {
                let all = locked.wheel().take_all();
                locked.wheel().put_back(all);
            }
        }
        loop {
            let locked = self.lock(None);
            while !wakers.is_full() {
                // SAFETY: settled right here.
                let this = unsafe { locked.wheel().pop_put_back() };
                if this.is_null() {
                    break;
                }
                // SAFETY: just taken out. Under the lock its owner cannot have taken it back.
                unsafe {
                    if (*this).fire == FIRE_SLEEP {
                        wakers.add(SleepState::abandon((*this).data.cast::<SleepState>()));
                    }
                }
            }
            locked.publish_next();
            drop(locked);
            if !wakers.wake_all_at_end() {
                return;
            }
        }
    }

    /// Locks the wheel; `w` is the calling worker. Inside: nothing foreign, nothing that blocks.
    #[inline]
    pub(crate) fn lock(&self, w: Option<&Worker>) -> Locked<'_> {
        self.lock_by(w.and_then(|w| w.bias_owner.get()))
    }

    /// Locks the wheel, to set a timer; `w` is the calling worker.
    #[inline]
    pub(crate) fn lock_to_insert(&self, w: Option<&Worker>) -> Supplied<'_> {
        self.lock_to_insert_by(w.and_then(|w| w.bias_owner.get()))
    }

    /// After the earliest timer was set, without the lock: who sleeps too long looks up.
    pub(crate) fn announce(&self, owner: &Peer, deadline: Instant) {
        let me = worker::current();
        if let Some(w) = me.as_deref()
            && std::ptr::eq(w.as_static(), owner)
        {
            w.tick_interval.set(OFTEN);
        }
        // Light (a full fence for a foreign thread): pairs with the heavy fence in
        // `Workers::sleep`.
        me.map_or(Fence::foreign(), |w| w.shared.deque.fence).light();
        if owner.pool.workers.has_sleepers() && deadline.as_nanos() < owner.pool.next_wake.load(Relaxed) {
            owner.pool.workers.wake_one();
        }
    }

    /// The owner's look at the clock.
    pub(crate) fn poll(w: Role) -> Role {
        let next = w.timers.next();
        if next == u64::MAX {
            w.tick_interval.set(SELDOM);
            return w;
        }
        w.tick_interval.set(OFTEN);
        if w.pool.clock.has_come(Instant::from_nanos(next)) {
            let (timers, now) = (&w.as_static().timers, w.pool.now());
            return timers.fire(w, now).0;
        }
        w
    }

    /// An idle worker's look at all timers of the runtime. True: some fired.
    pub(crate) fn poll_all(w: Role) -> (Role, bool) {
        let pool = w.pool;
        let (mut w, mut any) = (w, false);
        for other in pool.all_workers() {
            let next = other.timers.next();
            if next != u64::MAX && pool.clock.has_come(Instant::from_nanos(next)) {
                let (after, fired) = other.timers.fire(w, pool.now());
                w = after;
                any |= fired;
            }
        }
        (w, any)
    }

    /// How long a worker that is about to sleep may: until the earliest timer of all.
    pub(crate) fn until_next(w: &Worker) -> Option<Duration> {
        let next = Timers::earliest(w.pool);
        if next == u64::MAX {
            return None;
        }
        if w.pool.clock.is_manual() {
            // The clock may have moved before all knew that we sleep.
            return (next <= w.pool.now().as_nanos()).then_some(Duration::ZERO);
        }
        w.pool.next_wake.fetch_min(next, Relaxed);
        Some(Instant::from_nanos(next) - w.pool.now())
    }

    /// How long a spare worker may rest: until its own earliest timer.
    pub(crate) fn until_own(&self, w: &Worker) -> Option<Duration> {
        let next = self.next();
        if next == u64::MAX || w.pool.clock.is_manual() {
            // Whoever moves the manual clock wakes all; it may have done so before we rested.
            return (next <= w.pool.now().as_nanos()).then_some(Duration::ZERO);
        }
        Some(Instant::from_nanos(next) - w.pool.now())
    }

    /// When something is due next, of all workers, in nanoseconds.
    fn earliest(pool: &'static Pool) -> u64 {
        pool.all_workers().map(|w| w.timers.next()).min().unwrap_or(u64::MAX)
    }

    /// Is something due? (For the monitor.)
    pub(crate) fn any_due(pool: &'static Pool) -> bool {
        let next = Timers::earliest(pool);
        next != u64::MAX && pool.clock.has_come(Instant::from_nanos(next))
    }

    /// Fires what is due.
    #[cold]
    fn fire(&self, w: Role, now: Instant) -> (Role, bool) {
        let mut wakers = Wakers::new();
        let (mut w, mut any) = (w, false);
        loop {
            let mut blocked = Blocked::new();
            let locked = self.lock(Some(&w));
            let more = self.take_due(&locked, now, &mut blocked, &mut wakers);
            locked.publish_next();
            drop(locked);
            any |= blocked.wake_all(&w);
            any |= wakers.any();
            w = wakers.wake_all(w);
            if !more {
                return (w, any);
            }
        }
    }

    /// Takes out what is due, as long as there is room for wakers. True: there is more.
    fn take_due(&self, locked: &Locked<'_>, now: Instant, blocked: &mut Blocked, wakers: &mut Wakers) -> bool {
        let wheel = locked.wheel();
        let mut advanced = false;
        // What is left of the chain that `advance` has returned; what was put back comes before it.
        let mut chain: *mut TimerNode = null_mut();
        loop {
            if wakers.is_full() {
                // SAFETY: the rest of the chain.
                unsafe { wheel.put_back(chain) };
                return true;
            }
            // SAFETY: each node is settled once, below or after it was put back; its successor is
            // read before.
            let this = unsafe {
                if !chain.is_null() {
                    let this = chain;
                    chain = TimerNode::next(this);
                    this
                } else {
                    let this = wheel.pop_put_back();
                    if this.is_null() {
                        if std::mem::replace(&mut advanced, true) {
                            return false;
                        }
                        chain = wheel.advance(now.as_nanos());
                        continue;
                    }
                    this
                }
            };
            // SAFETY: just taken out. Under the lock its owner cannot have taken it back.
            unsafe {
                if (*this).fire == FIRE_WAIT {
                    let wait = (*this).data.cast::<Wait>();
                    if Wait::claim_timeout(wait) {
                        blocked.add(Wait::resumable(wait));
                    }
                } else if (*this).fire == FIRE_CANCEL_SCOPE {
                    // Its task removes the timer, under this lock, before it leaves the cancel
                    // scope.
                    wakers.add_request(CancelScope::cancel((*this).data.cast::<CancelScope>()));
                } else {
                    wakers.add(SleepState::fire((*this).data.cast::<SleepState>()));
                }
            }
        }
    }
}

/// Blocked tasks that were claimed: they stay blocked until we wake them, so the chain may go
/// through their nodes.
struct Blocked {
    first: *mut Parked,
    last: *mut Parked,
}

impl Blocked {
    fn new() -> Blocked {
        Blocked { first: null_mut(), last: null_mut() }
    }

    fn add(&mut self, node: Resumable) {
        let node = node.into_raw();
        // SAFETY: `node` and `last` were `Resumable`s, so they stay blocked, and their `next` is
        // ours until `wake_all`.
        unsafe {
            (*node).next.with_mut(|next| *next = null_mut());
            if self.last.is_null() {
                self.first = node;
            } else {
                (*self.last).next.with_mut(|next| *next = node);
            }
        }
        self.last = node;
    }

    /// Without the lock. True: there were some.
    fn wake_all(self, w: &Worker) -> bool {
        let any = !self.first.is_null();
        let mut node = self.first;
        while !node.is_null() {
            // SAFETY: claimed, so still blocked; its successor is read before it is woken.
            unsafe {
                let next = (*node).next.with(|next| *next);
                wake_node(Some(w), Resumable::from_raw(node));
                node = next;
            }
        }
        any
    }
}

/// At most [`BATCH`] of something, in no memory but its own.
struct Batch<T> {
    items: [Option<T>; BATCH],
    len: usize,
}

impl<T> Batch<T> {
    fn new() -> Batch<T> {
        Batch { items: [const { None }; BATCH], len: 0 }
    }

    /// Not while it is full.
    fn push(&mut self, item: T) {
        self.items[self.len] = Some(item);
        self.len += 1;
    }

    /// All that is in it; it is empty afterwards.
    fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        let len = std::mem::take(&mut self.len);
        self.items[..len].iter_mut().filter_map(Option::take)
    }
}

/// Wakers on their way from under the lock. (No `WakeList`, as the lists of waiters have: that may
/// allocate under the lock, and these were not claimed.)
struct Wakers {
    wakers: Batch<StoredWaker>,
    /// Of tasks with a cancel scope whose time is over.
    requests: Batch<DueRequest>,
}

impl Wakers {
    fn new() -> Wakers {
        Wakers { wakers: Batch::new(), requests: Batch::new() }
    }

    fn is_full(&self) -> bool {
        self.wakers.len == BATCH || self.requests.len == BATCH
    }

    /// Not while it is full.
    fn add(&mut self, waker: Option<StoredWaker>) {
        if let Some(waker) = waker {
            self.wakers.push(waker);
        }
    }

    /// Not while it is full.
    fn add_request(&mut self, request: DueRequest) {
        self.requests.push(request);
    }

    /// Are there some?
    fn any(&self) -> bool {
        self.wakers.len + self.requests.len > 0
    }

    /// Without the lock: wakers are user code.
    fn wake_all(&mut self, w: Role) -> Role {
        self.requests.drain().for_each(DueRequest::send);
        self.wakers.drain().fold(w, |w, waker| waker.wake_as(w))
    }

    /// Wakes all at the end of a runtime, on whatever thread. True: there were some.
    fn wake_all_at_end(&mut self) -> bool {
        let any = self.any();
        self.requests.drain().for_each(DueRequest::send);
        self.wakers.drain().for_each(StoredWaker::wake);
        any
    }
}
