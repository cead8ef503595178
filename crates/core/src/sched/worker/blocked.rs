//! A worker and its blocked tasks: setting stacks aside, and which goes on next.

use super::super::idle::WorkerShared;
use super::{BUDGET, OFTEN, Role, THREAD_BUDGET, THREAD_TICK_US, Worker};
use crate::queue::parked::{Home, Parked, Resumable};
use crate::queue::ready::{OwnRing, Ready, prefetch};
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::Kind;
use crate::record::position;
use crate::sched::cancel::{checkpoint, request};
use crate::sched::counters::Counter;
use crate::sched::driver;
use crate::sched::hints;
use crate::sched::lifecycle;
use myriad_base::stack::pool::NoStack;
use myriad_base::stack::switch::switch;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::clock::Instant;
use std::ptr::null_mut;
// Std's: one thread writes the slot, and others only estimate.
use std::sync::atomic::AtomicPtr;

/// The slot of the blocked task that goes on before all that are ready, in fiber mode. The worker's
/// own; atomic for whoever [counts](super::Peer::ready).
#[derive(Debug, Default)]
pub(crate) struct Next {
    node: AtomicPtr<Parked>,
    /// How many have gone on out of it.
    gone: Counter,
}

impl Next {
    /// Is one there?
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.node.load(Relaxed).is_null()
    }

    /// How many have gone on out of it.
    pub(super) fn gone(&self) -> u64 {
        self.gone.get()
    }

    /// Returns the one that was there.
    #[inline(always)]
    fn replace(&self, node: Resumable) -> Option<Resumable> {
        let before = self.node.load(Relaxed);
        self.node.store(node.into_raw(), Relaxed);
        // SAFETY: it was put there as one, and is out of the slot now.
        unsafe { Resumable::from_slot(before) }
    }

    /// (Most often there is none, so it is written only if there was one.)
    #[inline(always)]
    fn take(&self) -> Option<Resumable> {
        // SAFETY: as in `replace`.
        let node = unsafe { Resumable::from_slot(self.node.load(Relaxed)) };
        if node.is_some() {
            self.node.store(null_mut(), Relaxed);
        }
        node
    }

    /// Takes the one that goes on.
    #[inline(always)]
    fn take_to_go_on(&self) -> Option<Resumable> {
        let node = self.take();
        if node.is_some() {
            self.gone.add(1);
        }
        node
    }
}

impl Worker {
    /// A blocked task of this worker goes on, behind all that are ready: first come, first served,
    /// so nobody starves.
    ///
    /// # Safety
    /// The node is of this worker, or in threads mode taken over by it.
    #[inline(always)]
    pub(crate) unsafe fn make_ready(&self, node: Resumable) {
        match self.ring() {
            Some(ring) => ring.push(node),
            None => {
                self.measure_ready(&node);
                self.shared.push_ready(node);
            }
        }
    }

    /// A node is about to be ready: notes when, where that is measured.
    #[inline(always)]
    fn measure_ready(&self, node: &Resumable) {
        if self.shared.ready.is_measured() {
            self.note_ready(node.address());
        }
    }

    #[cold]
    #[inline(never)]
    fn note_ready(&self, node: *const Parked) {
        self.pool.latency.iter().for_each(|latency| latency.ready(node));
    }

    /// The ready ring, in fiber mode, unless it is measured: then it is the worker's own.
    #[inline(always)]
    fn ring(&self) -> Option<OwnRing<'_>> {
        // SAFETY: who has a `&Worker` has the worker's role as long as the borrow lasts, and so is
        // the ring's owner.
        unsafe { self.shared.ready.owner() }
    }

    /// A blocked task of this worker goes on before all that are ready: it was handed something to
    /// work on. Whoever was to go on next before it is behind the others now.
    ///
    /// Downstream first: a pipeline finishes what it has begun before it begins more, with data
    /// that is warm. For who waits for *room*, which is upstream, first come, first served is the
    /// better order (docs/dev/DECISIONS.md, "In which order do ready tasks go on?").
    ///
    /// In threads mode too: there each hand-over that is saved is worth microseconds, and
    /// downstream first saves more than half of a sieve's.
    ///
    /// # Safety
    /// The node is of this worker.
    #[inline(always)]
    pub(crate) unsafe fn make_next(&self, node: Resumable) {
        let Some(ring) = self.ring() else {
            self.measure_ready(&node);
            return self.shared.push_next(node);
        };
        // Its stack may be cold, and the caller goes on for a while.
        // SAFETY: this worker, the node's home (this function's contract), is the one that resumes.
        prefetch(unsafe { node.saved() }.wrapping_add(64));
        if let Some(before) = self.next.replace(node) {
            ring.push(before);
        }
    }

    /// Who was to go on next is behind the others now: two who hand each other messages for ever
    /// must not keep the worker.
    #[inline(always)]
    pub(crate) fn spill_next(&self) {
        match self.ring() {
            Some(ring) => {
                if let Some(node) = self.next.take() {
                    ring.push(node);
                }
            }
            None => self.shared.ready.locked(Ready::spill_next),
        }
    }

    /// The blocked task that goes on next, if one is ready.
    #[inline(always)]
    pub(crate) fn take_ready(&self) -> Option<Resumable> {
        match self.ring() {
            Some(ring) => self.take_ready_fiber(ring),
            None => self.take_ready_locked(),
        }
    }

    /// The same where the ring has a lock.
    #[inline(always)]
    fn take_ready_locked(&self) -> Option<Resumable> {
        if self.shared.ready.looks_empty() {
            None
        } else if self.shared.ready.is_measured() {
            self.take_ready_measured()
        } else {
            self.shared.ready.locked(Ready::pop_next)
        }
    }

    /// The same where it is measured how long the node has been ready.
    #[cold]
    #[inline(never)]
    fn take_ready_measured(&self) -> Option<Resumable> {
        let node = self.shared.ready.locked(Ready::pop_next)?;
        if let Some(latency) = &self.pool.latency {
            latency.goes_on(node.address());
        }
        Some(node)
    }

    /// The blocked task that goes on next, in fiber mode.
    #[inline(always)]
    fn take_ready_fiber(&self, ring: OwnRing<'_>) -> Option<Resumable> {
        self.next.take_to_go_on().or_else(|| ring.pop())
    }

    /// Is no blocked task ready?
    pub(crate) fn nothing_ready(&self) -> bool {
        match self.ring() {
            Some(ring) => self.next.is_empty() && ring.is_empty(),
            None => self.shared.ready.locked(|ready| ready.is_all_empty()),
        }
    }

    /// Takes the inbox over into the ready ring. False if it was empty.
    #[inline(always)]
    pub(crate) fn drain_inbox(&self) -> bool {
        !self.shared.remote.inbox.is_empty() && self.drain_full_inbox()
    }

    #[inline(never)]
    fn drain_full_inbox(&self) -> bool {
        self.shared.remote.inbox.take(|node| {
            if node.home().is_some() {
                // SAFETY: it has come out of the inbox of its home, which is this worker.
                unsafe { self.make_ready(node) };
            } else {
                // SAFETY: a node without a home is a message here, because the nodes of foreign
                // threads come into no inbox; this worker is calling.
                unsafe { request::receive(self, node.into_raw()) };
            }
        });
        true
    }

    /// Makes sure that the next block finds a stack to go on with. Call it before anything is
    /// published that must be waited for.
    #[inline(always)]
    pub(crate) fn ensure_stack(&self) -> Result<(), NoStack> {
        if self.stacks.has_idle() { Ok(()) } else { self.stacks.add_fresh(self) }
    }

    /// A node for what runs on this worker now, and waits for this.
    #[inline(always)]
    pub(crate) fn node(&self, reason: WaitReason) -> Parked {
        Parked::saved(Some(Home::of(&self.as_static().shared)), self.stacks.here(), reason)
    }

    /// Says, once for each place, if what is about to block is a future in a poll.
    fn hint(&self, reason: WaitReason) {
        let record = self.running_record();
        // SAFETY: what runs here has not ended; a record that is not null lives as long.
        if let Some(task) = unsafe { record.as_ref() }
            && task.kind().has(Kind::FUTURE)
        {
            hints::future_blocks(task.location(), reason, || self.pool.says_hints());
        }
    }

    /// What runs here is about to be set aside.
    ///
    /// # Safety
    /// The node stands.
    #[inline(always)]
    unsafe fn says_that_it_waits(&self, node: *const Parked) {
        lifecycle::set_aside(node);
        if hints::ON {
            // SAFETY: the node stands (this function's contract), and its reason does not change.
            self.hint(unsafe { (*node).reason });
        }
    }

    /// Is there enough stack left to run another task on top of this frame?
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.stacks.has_room()
    }

    /// The worker that `shared` belongs to.
    #[inline(always)]
    pub(super) fn is(&self, shared: &WorkerShared) -> bool {
        std::ptr::eq(&self.shared, shared)
    }
}

/// What waits: it takes the role, and returns the one with which the caller goes on.
impl Role {
    /// Sets the current stack aside until `node` is woken. Returns the role with which the caller
    /// goes on.
    ///
    /// # Safety
    /// The caller runs on this worker and has called `ensure_stack`. `node` is on the current stack
    /// or stays alive, has this worker as its home, and will be woken exactly once (it may have
    /// been already). (In threads mode worker and stack may be those of a role that the calling
    /// thread had before: [`Stacks::take_idle`](crate::sched::stacks::Stacks::take_idle).)
    #[inline(always)]
    pub(crate) unsafe fn suspend(self, node: *const Parked) -> Role {
        // SAFETY: the node stands (this function's contract).
        unsafe { self.says_that_it_waits(node) };
        if self.ring().is_none() {
            // SAFETY: the ring has a lock, and the rest is this function's contract.
            return unsafe { self.suspend_locked(node) };
        }
        // SAFETY: fiber mode, not measured; and this function's contract.
        unsafe { self.suspend_fiber::<false>(node) }
    }

    /// Sets the current stack aside, where the ready ring has a lock. (To find out the mode once,
    /// and first, costs a fiber less than to ask at each step.)
    ///
    /// # Safety
    /// Threads mode, or fiber mode and measured; and the conditions of [`suspend`](Self::suspend),
    /// on `node`.
    #[inline(never)]
    unsafe fn suspend_locked(self, node: *const Parked) -> Role {
        // SAFETY: this function's contract is that of either, in its mode.
        unsafe { if self.are_fibers() { self.suspend_measured_fiber(node) } else { self.suspend_thread(node) } }
    }

    /// Sets the current stack aside, in fiber mode where it is measured. (Not inlined, so that
    /// threads mode pays nothing for its registers.)
    ///
    /// # Safety
    /// Fiber mode, measured; and the conditions of [`suspend`](Self::suspend), on `node`.
    #[cold]
    #[inline(never)]
    unsafe fn suspend_measured_fiber(self, node: *const Parked) -> Role {
        // SAFETY: this function's contract.
        unsafe { self.suspend_fiber::<true>(node) }
    }

    /// Sets the current stack aside, in fiber mode.
    ///
    /// # Safety
    /// Fiber mode, and the ready ring is `MEASURED` or not; and the conditions of
    /// [`suspend`](Self::suspend), on `node`.
    #[inline(always)]
    unsafe fn suspend_fiber<const MEASURED: bool>(self, node: *const Parked) -> Role {
        let running = self.running.get();
        // SAFETY: `running` is the word of what runs here, which has not ended; `node` is that of
        // its wait, which stands (this function's contract).
        let Some(set_aside) = (unsafe { checkpoint::enter(&self, running.runs_here(), node) }) else { return self };
        // Through the loop every so often: it looks at inbox, timers and the oldest unstarted task.
        let left = self.tick_countdown.load(Relaxed);
        let ready = if left == 0 {
            self.spill_next();
            None
        } else {
            self.tick_countdown.store(left - 1, Relaxed);
            if MEASURED {
                self.take_ready()
            } else {
                // SAFETY: the ring is neither shared nor measured (this function's contract), and
                // the role makes the calling thread its owner.
                self.take_ready_fiber(unsafe { self.shared.ready.own_ring() })
            }
        };
        if ready.as_ref().is_some_and(|ready| std::ptr::eq(ready.address(), node)) {
            // Woken already, and first in the queue: its stack is this one.
            set_aside.goes_on();
            return self;
        }
        let to = match ready {
            None => self.stacks.take_idle(&self),
            Some(ready) => {
                // SAFETY: this worker resumes it, next.
                unsafe { ready.saved() }
            }
        };
        // SAFETY: `to` is a saved or fresh stack of this worker's, out of its queue or list, so
        // nobody else goes on with it; `node` stands until the switch comes back (this function's
        // contract).
        unsafe { (*node).saved.with_mut(|saved| switch(saved, to)) };
        set_aside.goes_on();
        self.running.set(running);
        self.budget.set(BUDGET);
        self.awaits.store(position::RUNS, Relaxed);
        self
    }

    /// Sets the current stack aside, in threads mode.
    ///
    /// # Safety
    /// Threads mode; and the conditions of [`suspend`](Self::suspend), on `node`.
    #[inline(always)]
    unsafe fn suspend_thread(self, node: *const Parked) -> Role {
        let running = self.running.get();
        // SAFETY: `running` is the word of what runs here, which has not ended; `node` is that of
        // its wait, which stands (this function's contract).
        let entered = unsafe { checkpoint::enter_thread(&self, running.runs_here(), node) };
        let Some(set_aside) = entered else { return self };
        let left = self.tick_countdown.load(Relaxed);
        let ready = if left == 0 && self.is_tick_due() {
            None
        } else {
            self.tick_countdown.store(left.checked_sub(1).unwrap_or(self.tick_interval.get()), Relaxed);
            self.take_ready_locked()
        };
        if ready.as_ref().is_some_and(|ready| std::ptr::eq(ready.address(), node)) {
            set_aside.goes_on();
            return self;
        }
        let to = match ready {
            None => self.stacks.take_idle(&self),
            Some(ready) => {
                // SAFETY: this worker resumes it, next. (Its thread may be about to park: see
                // `takeover`.)
                unsafe { ready.saved() }
            }
        };
        // SAFETY: the node is that of the wait below, which stands in this thread's stack until the
        // switch comes back; the role goes to a thread of this worker's.
        unsafe { (*node).saved.with_mut(|saved| self.stacks.switch(&self, saved, to)) };
        let w = self.refresh();
        set_aside.goes_on();
        w.running.set(running);
        w.debug_assert_knows_context();
        w.budget.set(THREAD_BUDGET);
        w.awaits.store(position::RUNS, Relaxed);
        w
    }

    /// The turns until the next tick are over, in threads mode. Is this one a tick, or is that
    /// passed over? (Ticks that are seldom are one turn in 61; with half of them a sieve was 4 %
    /// slower.)
    fn is_tick_due(&self) -> bool {
        let due = self.tick_interval.get() != OFTEN || self.has_tick_work() || {
            ticks().saturating_sub(self.window_began.get()) >= THREAD_TICK_US * ticks_per_us()
        };
        if !due {
            self.ticks_passed_over.set(self.ticks_passed_over.get() + 1);
        }
        due
    }

    /// Would a tick find something, or has somebody asked for one? (But for the reactor, at which a
    /// task looks where nothing is ready.)
    fn has_tick_work(&self) -> bool {
        self.window_cut.load(Relaxed)
            || self.shared.deque.looks_busy()
            || !self.shared.remote.inbox.is_empty()
            || self.pool.workers.may_have_injected()
            || self.pool.any_stuck.load(Relaxed)
            || self.pool.clock.has_come(Instant::from_nanos(self.timers.next()))
    }

    /// Lets all ready tasks run first.
    pub(crate) fn yield_now(self) -> Role {
        let w = self.let_others_go_first();
        checkpoint::check(&w);
        w
    }

    /// Lets all ready tasks run first; no cancellation point.
    fn let_others_go_first(self) -> Role {
        // (A yield promises nothing: with no memory for a stack, it goes on.)
        if self.ensure_stack().is_err() {
            return self;
        }
        self.drain_inbox();
        let node = self.node(WaitReason::Yield);
        // SAFETY: the node is that of the caller, who blocks next; it is in no list.
        unsafe {
            let ready = Resumable::from_raw(&raw const node as *mut Parked);
            if let Some(ring) = self.ring() {
                // (`suspend` would ask for the mode once more: 1 % of a yield.)
                ring.push(ready);
                self.says_that_it_waits(&node);
                return self.suspend_fiber::<false>(&node);
            }
            self.make_ready(ready);
            self.suspend(&node)
        }
    }

    /// Waits with a frame that must stand, when there is no stack on which the worker could go on
    /// meanwhile. What it waits for has been started, here or elsewhere, and may need other tasks
    /// of this worker: those that are ready have stacks of their own. (Unstarted ones need another
    /// worker.)
    #[cold]
    pub(crate) fn wait_without_stack(self, is_over: impl Fn() -> bool) -> Role {
        let mut w = self.refresh();
        while !is_over() {
            w.drain_inbox();
            w = driver::poll(w);
            let Some(ready) = w.take_ready() else {
                myriad_base::sys::thread::yield_now();
                continue;
            };
            let running = w.running.get();
            let node = w.node(WaitReason::Other);
            // The task keeps its mark, where it is on top of others, and may go on as another
            // worker before the next one here has said what runs: nobody must find the task here
            // then ([`Role::run_on_top`]).
            w.running.set(CurrentTask::NOTHING);
            // Straight to the other one: the loop, as in `suspend`, would need a stack. SAFETY:
            // this worker resumes the ready one, next. The other node is that of the caller, who
            // blocks next; it is in no list.
            unsafe {
                w.make_ready(Resumable::from_raw(&raw const node as *mut Parked));
                let to = ready.saved();
                node.saved.with_mut(|saved| w.stacks.switch(&w, saved, to));
            }
            w = w.refresh();
            w.running.set(running);
        }
        w
    }

    /// The budget is used up by operations that try, and fail: what they tried may become possible
    /// only when others go on. They wait for nothing, so this is no cancellation point, and
    /// concerns only closures: a future that polls lets others go on by being pending.
    #[cold]
    #[inline(never)]
    pub(crate) fn spent_in_vain(self) -> Role {
        self.budget.set(BUDGET);
        // SAFETY: the word is that of what runs here, whose record lives; where no task runs, that
        // record is a static.
        let is_closure = unsafe { (*self.running.get().record()).kind().has(Kind::CLOSURE) };
        if !is_closure || std::thread::panicking() { self } else { self.let_others_go_first() }
    }

    /// The running task's budget of operations is used up: others run.
    #[cold]
    #[inline(never)]
    pub(crate) fn spent(self) -> Role {
        self.budget.set(BUDGET);
        // A destructor that runs because of a panic may use a lock or a channel as long as it need
        // not wait: it is not made to.
        if std::thread::panicking() { self } else { self.yield_now() }
    }
}
