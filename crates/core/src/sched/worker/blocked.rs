//! A worker and its blocked tasks: setting stacks aside, and which goes on next.

use super::super::idle::WorkerShared;
use super::{BUDGET, Role, Worker};
use crate::queue::parked::{Home, Parked};
use crate::queue::ready::{Ready, prefetch};
use crate::queue::reason::WaitReason;
use crate::record::header::Kind;
use crate::sched::cancel::{checkpoint, request};
use crate::sched::driver;
use crate::sched::lifecycle;
use myriad_base::stack::pool::NoStack;
use myriad_base::stack::switch::switch;
use myriad_base::sys::atomic::Ordering::*;
use std::ptr::null_mut;

impl Worker {
    /// A blocked task of this worker goes on, behind all that are ready: first come, first served,
    /// so nobody starves.
    ///
    /// # Safety
    /// The node is blocked, or about to block having published itself; it is in no list, and of
    /// this worker, or in threads mode taken over by it.
    #[inline(always)]
    pub(crate) unsafe fn make_ready(&self, node: *mut Parked) {
        if self.shared.ready.is_shared() {
            // SAFETY: the node is blocked, in no list, and for this worker (this function's
            // contract), which is in threads mode.
            unsafe { self.shared.push_ready(node) };
        } else {
            // SAFETY: we are the owner, and no call is within another.
            unsafe { self.shared.ready.owned().push(node) };
        }
    }

    /// A blocked task of this worker goes on before all that are ready: it was handed something to
    /// work on. Whoever was to go on next before it is behind the others now.
    ///
    /// Downstream first: a pipeline finishes what it has begun before it begins more, with data
    /// that is warm. For who waits for *room*, which is upstream, first come, first served is the
    /// better order (docs/dev/DECISIONS.md, "In which order do ready tasks go on?").
    ///
    /// In threads mode a switch costs so much more than a cold cache that there is nothing to win:
    /// one queue.
    ///
    /// # Safety
    /// The node is blocked, in no list, and of this worker; the caller is the worker.
    #[inline(always)]
    pub(crate) unsafe fn make_next(&self, node: *mut Parked) {
        if self.shared.ready.is_shared() {
            // SAFETY: the node is blocked, in no list, and of this worker (this function's
            // contract), which is in threads mode.
            unsafe { self.shared.push_ready(node) };
        } else {
            // Its stack may be cold, and the caller goes on for a while.
            // SAFETY: the node is blocked (this function's contract), so it stands until it goes
            // on, and only this worker, its home, lets it go on and writes `saved`.
            prefetch(unsafe { (*node).saved.with(|saved| *saved) }.wrapping_add(64));
            let before = self.next.replace(node);
            if !before.is_null() {
                // SAFETY: we are the owner, and no call is within another.
                unsafe { self.shared.ready.owned().push(before) };
            }
        }
    }

    /// Who was to go on next is behind the others now: two who hand each other messages for ever
    /// must not keep the worker.
    #[inline(always)]
    pub(crate) fn spill_next(&self) {
        let node = self.next.replace(null_mut());
        if !node.is_null() {
            // SAFETY: we are the owner, and no call is within another.
            unsafe { self.shared.ready.owned().push(node) };
        }
    }

    /// The blocked task that goes on next; null if none is ready.
    #[inline(always)]
    pub(crate) fn take_ready(&self) -> *mut Parked {
        if self.shared.ready.is_shared() { self.shared.ready.locked(Ready::pop) } else { self.take_ready_fiber() }
    }

    /// The blocked task that goes on next, in fiber mode.
    #[inline(always)]
    fn take_ready_fiber(&self) -> *mut Parked {
        let next = self.next.get();
        if !next.is_null() {
            self.next.set(null_mut());
            return next;
        }
        // SAFETY: we are the owner, and no call is within another.
        unsafe { self.shared.ready.owned().pop() }
    }

    /// Is no blocked task ready?
    pub(crate) fn nothing_ready(&self) -> bool {
        if self.shared.ready.is_shared() {
            self.shared.ready.locked(|ready| ready.is_empty())
        } else {
            // SAFETY: this worker is the ring's owner, in fiber mode, and no call is within
            // another.
            self.next.get().is_null() && unsafe { self.shared.ready.owned().is_empty() }
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
            // SAFETY: the inbox has given the node to this worker alone: a blocked node of its own,
            // which stands until it goes on, or a message.
            if unsafe { (*node).home.is_some() } {
                // SAFETY: a blocked node of this worker, which has come out of the inbox and is in
                // no list.
                unsafe { self.make_ready(node) };
            } else {
                // SAFETY: a node without a home is a message here, because the nodes of foreign
                // threads come into no inbox; this worker is calling.
                unsafe { request::serve(self, node) };
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
        lifecycle::set_aside(node);
        if !self.are_fibers() {
            // SAFETY: this worker is in threads mode, and the rest is this function's contract.
            return unsafe { self.suspend_thread(node) };
        }
        let running = self.running.get();
        // SAFETY: `running` is the word of what runs here, which has not ended.
        let task = unsafe { running.cancel_record() };
        // SAFETY: `task` is the record of what runs here, and `node` that of its wait, which stands
        // (this function's contract).
        if unsafe { checkpoint::enter(&self, task, node) } {
            return self;
        }
        // Through the loop every so often: it looks at inbox, timers and the oldest unstarted task.
        let left = self.tick_countdown.load(Relaxed);
        let ready = if left == 0 {
            self.spill_next();
            null_mut()
        } else {
            self.tick_countdown.store(left - 1, Relaxed);
            self.take_ready_fiber()
        };
        if std::ptr::eq(ready, node) {
            // Woken already, and first in the queue: its stack is this one.
            // SAFETY: `task` is the record of what goes on here, and lives.
            unsafe { checkpoint::leave_fiber(task) };
            return self;
        }
        let to = if ready.is_null() {
            self.stacks.take_idle(&self)
        } else {
            // SAFETY: a ready node is blocked, its stack is saved, and it is in no queue any more.
            unsafe { (*ready).saved.with(|saved| *saved) }
        };
        // SAFETY: `to` is a saved or fresh stack of this worker's, out of its queue or list, so
        // nobody else goes on with it; `node` stands until the switch comes back (this function's
        // contract).
        unsafe { (*node).saved.with_mut(|saved| switch(saved, to)) };
        // SAFETY: `task` is the record of what goes on here, its home.
        unsafe { checkpoint::leave_fiber(task) };
        self.running.set(running);
        self.budget.set(BUDGET);
        self
    }

    /// Sets the current stack aside, in threads mode. (To find out the mode once, and first, costs
    /// a fiber less than to ask at each step.)
    ///
    /// # Safety
    /// Threads mode; and the conditions of [`suspend`](Self::suspend), on `node`.
    #[inline(never)]
    unsafe fn suspend_thread(self, node: *const Parked) -> Role {
        let running = self.running.get();
        // SAFETY: `running` is the word of what runs here, which has not ended.
        let task = unsafe { running.cancel_record() };
        // SAFETY: `task` is the record of what runs here, and `node` that of its wait, which stands
        // (this function's contract).
        if unsafe { checkpoint::enter_thread(&self, task, node) } {
            return self;
        }
        let left = self.tick_countdown.load(Relaxed);
        let ready = if left == 0 {
            null_mut()
        } else {
            self.tick_countdown.store(left - 1, Relaxed);
            self.take_ready()
        };
        if std::ptr::eq(ready, node) {
            // SAFETY: `task` is the record of what goes on here, and lives.
            unsafe { checkpoint::leave(&self, task) };
            return self;
        }
        let to = if ready.is_null() {
            self.stacks.take_idle(&self)
        } else {
            // SAFETY: a ready node stands until its task goes on, and this worker has taken it.
            // (Its thread may be about to park: see `relief`.)
            unsafe { (*ready).saved.with(|saved| *saved) }
        };
        // SAFETY: the node is that of the wait below, which stands in this thread's stack until the
        // switch comes back; the role goes to a thread of this worker's.
        unsafe { (*node).saved.with_mut(|saved| self.stacks.switch(&self, saved, to)) };
        let w = self.refresh();
        // SAFETY: `task` is the record of what goes on here, with the role `w`.
        unsafe { checkpoint::leave(&w, task) };
        w.running.set(running);
        w.debug_assert_knows_context();
        w.budget.set(BUDGET);
        w
    }

    /// Lets all ready tasks run first.
    pub(crate) fn yield_now(self) -> Role {
        let task = checkpoint::running(&self);
        let w = self.let_others_go_first();
        // SAFETY: `task` is the record of what ran here before the yield, and runs again.
        unsafe { checkpoint::check_of(task) };
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
        // SAFETY: the node is that of the caller, who blocks next; it was in no list, and is in the
        // ready ring now, where it is found exactly once.
        unsafe {
            self.make_ready(&raw const node as *mut Parked);
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
            let ready = w.take_ready();
            if ready.is_null() {
                myriad_base::sys::thread::yield_now();
                continue;
            }
            let running = w.running.get();
            let node = w.node(WaitReason::Other);
            // Straight to the other one: the loop, as in `suspend`, would need a stack.
            // SAFETY: a ready node is blocked, with its stack saved, and in no queue any more. Ours
            // was in no list, and is in the ready ring now, where it is found exactly once.
            unsafe {
                w.make_ready(&raw const node as *mut Parked);
                let to = (*ready).saved.with(|saved| *saved);
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
        let is_closure = unsafe { (*self.running.get().record()).kind.has(Kind::CLOSURE) };
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
