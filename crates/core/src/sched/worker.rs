//! A worker: one thread of the pool, and what only it touches.
//!
//! ```text
//!  [member: what others see] [owner only: current, ready, stacks, record memory, budget]
//! ```
//! A worker always runs [`super::turn::run`] on some pooled stack; a task is a plain call from it. A task that blocks saves
//! its stack into a node and switches to (a) the first ready task, or (b) an idle stack parked in the loop, which may be a
//! fresh one. Only the home worker resumes a node, out of its own queues, that is after the switch:
//! so "woken before saved" needs no care.
//!
//! **Invariant (stacks).** Whoever is about to block has first called [`Worker::ensure_stack`], so that the idle list is
//! not empty: the switch itself cannot fail.
//!
//! **Lifetime.** Workers live for ever and are used again by later runtimes (see [`super::idle`]).
//!
//! **Who may touch what.** All but `member` belongs to the thread that has the worker's role: in fiber mode its one
//! thread, in threads mode the thread whose turn it is. `Worker` is `Sync` only so that a reference can stand in a
//! thread-local; methods are reached through [`current`], that is, by that thread.
//!
//! **Ask again after a wait.** In threads mode a task that has blocked may go on with *another* worker's role, when its own
//! is stuck ([`super::relief`]): on the same thread, but the worker is a different one. So a `&'static Worker` that
//! was asked for before a wait, or before anything foreign runs (a closure, a destructor, a waker, a hook), says nothing
//! afterwards: use [`Worker::still`], which in fiber mode costs one branch. [`crate::wait::Here`] does so by itself.

use super::foreign;
use super::idle::Member;
use super::node::Node;
use super::policy::Arrival;
use super::priority::Turns;
use super::ready::{Ready, prefetch};
use super::stacks::Stacks;
use crate::cancel::frames::Frames;
use crate::cancel::{ask, place, point};
use crate::lock::biaser::{self, Biaser};
use crate::runtime::hub::{Comer, Hub};
use crate::stack::pool::NoStack;
use crate::stack::switch::switch;
use crate::sys::atomic::{AtomicU32, Ordering::*};
use crate::sys::fence::Fence;
use crate::task::context::{Running, Word, inherit};
use crate::task::header::{Header, Kind};
use crate::task::memory::{self, Memory};
use crate::task::{spawn, state};
use crate::time::timers::Timers;
use std::cell::Cell;
use std::ptr::{null, null_mut};

/// Channel operations of a task before it lets others run.
pub const BUDGET: u32 = 128;

/// See the module's header.
#[repr(C)]
pub struct Worker {
    /// What others see. First, so that a pointer to the one is a pointer to the other.
    pub member: Member,
    /// The task that runs now, or its context; see [`Running`]. A switch saves and restores the word, whatever it is. Others
    /// look at it when the worker is stuck: [`Hub::name_running`](crate::runtime::hub::Hub::name_running).
    pub running: Running,
    /// The blocked task that goes on before those in the ready queue, or null: see [`Worker::make_next`]. Fiber mode only.
    pub next: Cell<*mut Node>,
    /// Turns (of the loop, and direct switches) until the next look at inbox, clock and the oldest task. A shutdown
    /// sets it to 0 from outside, again and again, for the owner may overwrite that.
    pub turns_left: AtomicU32,
    /// How many turns there are between two looks.
    pub turns: Cell<u32>,
    /// What the next look is for: the newest unstarted task, the oldest, or one between (0, 1, 2).
    pub look_for: Cell<u8>,
    /// Whose turn it was, where there are priorities.
    pub lanes: Turns,
    /// It forces no steal before this time, in ticks.
    pub force_at: Cell<u64>,
    /// Operations left to the running task.
    pub budget: Cell<u32>,
    /// The locks' preference; `None` where there are too many workers.
    pub biaser: Cell<Option<&'static Biaser>>,
    /// Stacks, and which kind they are.
    pub stacks: Stacks,
    /// Free records.
    pub memory: Memory,
    /// Pending timers of tasks of this worker.
    pub timers: Timers,
    /// What all workers of the runtime share.
    pub hub: &'static Hub,
    /// Its number.
    pub number: u8,
    /// The flags of records on this worker's stacks.
    pub stack_flags: u32,
    /// Says in a record that its task is blocked here: see `cancel::place`.
    pub here: usize,
    /// Tasks of scopes and frames that have begun here.
    pub custody: Frames,
    /// How many tasks have ended on it whose records are in others' frames, and how many contexts.
    pub frames: AtomicU32,
    /// How often it has come to look at inbox and clock: for the monitor, which sees whether it moves.
    pub looks: AtomicU32,
    /// The system's number of the thread that has the role.
    pub thread: std::sync::atomic::AtomicU32,
    /// A spare is on duty while workers are stuck.
    pub on_duty: std::sync::atomic::AtomicBool,
    /// A spare that could not begin to work.
    pub dead: std::sync::atomic::AtomicBool,
    /// One more than the runtime's workers, for when they are stuck.
    pub spare: bool,
}

// SAFETY: see "Who may touch what" in the header.
unsafe impl Sync for Worker {}
// SAFETY: nothing in it belongs to a particular thread for good.
unsafe impl Send for Worker {}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("index", &self.member.index).finish_non_exhaustive()
    }
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

/// The worker whose role the calling thread has.
#[inline(always)]
pub fn current() -> Option<&'static Worker> {
    // In a model all threads are foreign.
    if cfg!(loom) {
        return None;
    }
    let worker = CURRENT.with(Cell::get);
    // SAFETY: set to a worker by `set_current`, and workers live for ever.
    unsafe { worker.as_ref() }
}

/// Makes the calling thread one of this worker's.
pub fn set_current(worker: Option<&'static Worker>) {
    CURRENT.with(|c| c.set(worker.map_or(null(), std::ptr::from_ref)));
}

impl Worker {
    /// Worker `index` of a hub.
    pub fn new(hub: &'static Hub, index: usize, spare: bool) -> Worker {
        Worker {
            member: Member::new(&hub.crew, index, 256),
            running: Running::nothing(),
            next: Cell::new(null_mut()),
            turns_left: AtomicU32::new(SELDOM),
            turns: Cell::new(SELDOM),
            look_for: Cell::new(0),
            lanes: Turns::default(),
            force_at: Cell::new(0),
            budget: Cell::new(BUDGET),
            biaser: Cell::new(None),
            stacks: Stacks::default(),
            memory: Memory::new(),
            timers: Timers::default(),
            hub,
            number: hub.number,
            stack_flags: spawn::stack_flags(hub.number),
            here: place::here(index),
            custody: Frames::default(),
            frames: AtomicU32::new(0),
            looks: AtomicU32::new(0),
            thread: std::sync::atomic::AtomicU32::new(0),
            on_duty: std::sync::atomic::AtomicBool::new(false),
            dead: std::sync::atomic::AtomicBool::new(false),
            spare,
        }
    }

    /// The worker of a member of a hub's crew.
    #[inline(always)]
    pub fn of(member: &'static Member) -> &'static Worker {
        // SAFETY: outside of models all members are in workers, as their first field; workers live for ever. (Made from a
        // reference to the member alone, so in the terms of Stacked Borrows it is the exposed address that counts.)
        unsafe { &*std::ptr::from_ref(member).cast() }
    }

    /// The running task, whose record is in the frame of another, is about to complete, and the frame may go: whoever asks
    /// what we run must not look at it, or not believe what it has read ([`Hub::name_running`]).
    #[inline]
    pub fn forget_frame(&self) {
        self.running.set(Word::NOTHING);
        self.forget();
    }

    /// What `running` said until now may go: a frame, or a context.
    #[inline]
    pub fn forget(&self) {
        // Release: `running`, for the Acquire in `name_running`; and before all that becomes of the memory.
        self.frames.store(self.frames.load(Relaxed).wrapping_add(1), Release);
    }

    /// The worker whose role the calling thread has now, where it had this one's before a wait or before foreign code. See
    /// the module's header.
    #[inline(always)]
    pub fn still(&'static self) -> &'static Worker {
        if !self.member.ready.is_shared() {
            return self;
        }
        let w = current().expect("a thread of the runtime");
        if !std::ptr::eq(w, self) {
            // The task may have a context, which it had on the other worker.
            w.member.deque.set_contexts();
        }
        w
    }

    /// The worker's thread begins (or, with `false`, ends) to work.
    pub fn prefer_locks(&self, yes: bool) {
        if yes {
            #[cfg(not(loom))]
            self.biaser.set(biaser::take());
        } else if let Some(_biaser) = self.biaser.take() {
            #[cfg(not(loom))]
            biaser::give_back(_biaser);
        }
    }

    /// Does it work in fiber mode? For all.
    #[inline(always)]
    pub fn are_fibers(&self) -> bool {
        !self.member.ready.is_shared()
    }

    /// The record whose cancellation counts for what runs now ([`Word::seat`]); null where no task runs.
    pub fn task(&self) -> *const Header {
        // SAFETY: what runs now.
        let task = unsafe { self.running.get().seat() };
        if Word::is_nobody(task) { null() } else { task }
    }

    // ------------------------------------------------------------------------------------------------- unstarted tasks

    /// Queues a closure that the running task spawns: it inherits from the task's context. Returns the record, which may
    /// have become another one for that.
    ///
    /// # Safety
    /// As for `push`; the record is on no stack, and nobody else knows it.
    #[inline(always)]
    pub unsafe fn push_new(&self, task: *mut Header) -> *mut Header {
        if !self.member.deque.is_plain() {
            // SAFETY: the caller.
            return unsafe { self.push_heir(task) };
        }
        // SAFETY: the caller.
        if unsafe { self.member.deque.push_plain(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
        task
    }

    /// # Safety
    /// As for `push_new`.
    #[cold]
    #[inline(never)]
    unsafe fn push_heir(&self, task: *mut Header) -> *mut Header {
        // SAFETY: the caller.
        unsafe {
            let task = inherit::closure(Some(self), task, None);
            self.push(task);
            task
        }
    }

    /// The same for a closure whose record is in a frame of this stack.
    ///
    /// # Safety
    /// As for `push`; the record is a `StackTask`'s, and nobody else knows it.
    #[inline(always)]
    pub unsafe fn push_nested(&self, task: *mut Header) {
        if !self.member.deque.is_plain() {
            // SAFETY: the caller.
            return unsafe { self.push_nested_heir(task) };
        }
        // SAFETY: the caller.
        if unsafe { self.member.deque.push_plain(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
    }

    /// # Safety
    /// As for `push_nested`.
    #[cold]
    #[inline(never)]
    unsafe fn push_nested_heir(&self, task: *mut Header) {
        // SAFETY: the caller.
        unsafe {
            inherit::nested(Some(self), task);
            self.push(task);
        }
    }

    /// Queues an unstarted closure.
    ///
    /// # Safety
    /// The caller is this worker; `task` is a record in no queue.
    #[inline(always)]
    pub unsafe fn push(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.member.deque.push(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
    }

    /// Queues a future.
    ///
    /// # Safety
    /// As for `push`.
    #[inline(always)]
    pub unsafe fn push_future(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.member.deque.push_unclaimed(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
    }

    /// Queues a task of either kind.
    ///
    /// # Safety
    /// As for `push`.
    pub unsafe fn push_any(&self, task: *mut Header) {
        // SAFETY: the caller.
        unsafe { if (*task).kind.has(Kind::FUTURE) { self.push_future(task) } else { self.push(task) } }
    }

    /// Queues a future behind all others.
    ///
    /// # Safety
    /// As for `push`.
    pub unsafe fn push_last(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.member.deque.push_oldest(task) } {
            // SAFETY: the caller.
            unsafe { self.answer_for(Some(Arrival::Last)) };
        }
    }

    /// Queues a closure in which the running task goes on, elsewhere, while it waits for it.
    ///
    /// # Safety
    /// As for `push`; nobody claims it.
    pub unsafe fn push_next(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.member.deque.push(task) } {
            // SAFETY: the caller.
            unsafe { self.answer_for(Some(Arrival::Next)) };
        }
    }

    /// A push has found that somebody asks for work; or the policy has set that word for good, to have the task.
    ///
    /// # Safety
    /// The caller is this worker, and has just pushed.
    #[cold]
    #[inline(never)]
    unsafe fn answer(&self) {
        // SAFETY: the caller.
        unsafe { self.answer_for(None) };
    }

    /// # Safety
    /// As for `answer`.
    unsafe fn answer_for(&self, arrival: Option<Arrival>) {
        let crew = &self.hub.crew;
        // SAFETY: the caller. Under another policy nobody steals, and what was pushed before has been passed on.
        unsafe {
            let Some(queues) = crew.queues() else { return crew.answer(&self.member) };
            let task = self.member.deque.pass_on();
            let woken = (*task).kind.has(Kind::FUTURE) && !state::is_new(&(*task).state);
            let usual = if woken { Arrival::Woken } else { Arrival::Spawned(self.running.get().record()) };
            crew.put(queues, Some(&self.member), task, arrival.unwrap_or(usual));
        }
    }

    /// Takes a closure out of whatever queue it is in, to run it on top of its joiner. False: it has begun, or is not to be found.
    ///
    /// # Safety
    /// As for [`Deque::claim`](super::deque::Deque::claim): the caller has the task's handle, or the record is its own.
    pub unsafe fn claim(&self, task: &Header) -> bool {
        // SAFETY: the caller; we are the owner of the deque.
        unsafe { self.member.deque.claim(task) || self.claim_queued(task) }
    }

    /// The same of the policy's queues alone.
    ///
    /// # Safety
    /// As for `claim`.
    pub unsafe fn claim_queued(&self, task: &Header) -> bool {
        self.hub.crew.queues().is_some_and(|queues| queues.claim(task))
    }

    // ------------------------------------------------------------------------------------------------- blocked tasks

    /// A blocked task of this worker goes on, behind all that are ready: first come, first served, so nobody starves.
    #[inline(always)]
    pub fn make_ready(&self, node: *mut Node) {
        if self.member.ready.is_shared() {
            self.member.push_ready(node);
        } else {
            // SAFETY: we are the owner, and no call is within another.
            unsafe { self.member.ready.owned().push(node) };
        }
    }

    /// A blocked task of this worker goes on before all that are ready: it was handed something to work on. Whoever was to go
    /// on next before it is behind the others now.
    ///
    /// Downstream first: a pipeline finishes what it has begun before it begins more, with data that is warm. For who waits for
    /// *room*, which is upstream, first come, first served is the better order (docs/DESIGN.md, (b)).
    ///
    /// In threads mode a switch costs so much more than a cold cache that there is nothing to win: one queue.
    ///
    /// # Safety
    /// The node is blocked, in no list, and of this worker; the caller is the worker.
    #[inline(always)]
    pub unsafe fn make_next(&self, node: *mut Node) {
        if self.member.ready.is_shared() {
            self.member.push_ready(node);
        } else {
            // Its stack may be cold, and the caller goes on for a while.
            // SAFETY: the caller: the node stands until it is gone on with, and nobody else writes it.
            prefetch(unsafe { (*node).saved.with(|saved| *saved) }.wrapping_add(64));
            let before = self.next.replace(node);
            if !before.is_null() {
                // SAFETY: we are the owner, and no call is within another.
                unsafe { self.member.ready.owned().push(before) };
            }
        }
    }

    /// Who was to go on next is behind the others now: two who hand each other messages for ever must not keep the worker.
    #[inline(always)]
    pub fn spill_next(&self) {
        let node = self.next.replace(null_mut());
        if !node.is_null() {
            // SAFETY: we are the owner, and no call is within another.
            unsafe { self.member.ready.owned().push(node) };
        }
    }

    /// The blocked task that goes on next; null if none is ready.
    #[inline(always)]
    pub fn take_ready(&self) -> *mut Node {
        if self.member.ready.is_shared() { self.member.ready.locked(Ready::pop) } else { self.take_ready_fiber() }
    }

    /// The same in fiber mode.
    #[inline(always)]
    fn take_ready_fiber(&self) -> *mut Node {
        let next = self.next.get();
        if !next.is_null() {
            self.next.set(null_mut());
            return next;
        }
        // SAFETY: we are the owner, and no call is within another.
        unsafe { self.member.ready.owned().pop() }
    }

    /// Is no blocked task ready?
    pub fn nothing_ready(&self) -> bool {
        if self.member.ready.is_shared() {
            self.member.ready.locked(|ready| ready.is_empty())
        } else {
            // SAFETY: we are the owner.
            self.next.get().is_null() && unsafe { self.member.ready.owned().is_empty() }
        }
    }

    /// Takes the inbox over into the ready ring. False if it was empty.
    #[inline(always)]
    pub fn drain_inbox(&self) -> bool {
        !self.member.door.inbox.is_empty() && self.drain_full_inbox()
    }

    #[inline(never)]
    fn drain_full_inbox(&self) -> bool {
        self.member.door.inbox.take(|node| {
            // SAFETY: taken out of the inbox: a blocked node of ours, or a message.
            if unsafe { (*node).home.is_some() } {
                self.make_ready(node);
            } else {
                // SAFETY: it is a message, and ours; we are the worker.
                unsafe { ask::serve(Worker::of(self.as_static()), node) };
            }
        });
        true
    }

    /// Makes sure that the next block finds a stack to go on with. Call it before anything is published that must be
    /// waited for.
    #[inline(always)]
    pub fn ensure_stack(&self) -> Result<(), NoStack> {
        if self.stacks.has_idle() { Ok(()) } else { self.stacks.add_fresh(self) }
    }

    /// Sets the current stack aside until `node` is woken.
    ///
    /// # Safety
    /// The caller runs on this worker and has called `ensure_stack`. `node` is on the current stack or stays alive, has
    /// this worker as its home, and will be woken exactly once (it may have been already).
    #[inline(always)]
    pub unsafe fn suspend(&'static self, node: *const Node) {
        if !self.are_fibers() {
            // SAFETY: the caller.
            return unsafe { self.suspend_thread(node) };
        }
        let running = self.running.get();
        // SAFETY: what runs.
        let task = unsafe { running.seat() };
        // SAFETY: the running task, and its wait.
        if unsafe { point::enter(self, task, node) } {
            return;
        }
        // Through the loop every so often: it looks at inbox, timers and the oldest unstarted task.
        let left = self.turns_left.load(Relaxed);
        let ready = if left == 0 {
            self.spill_next();
            null_mut()
        } else {
            self.turns_left.store(left - 1, Relaxed);
            self.take_ready_fiber()
        };
        if std::ptr::eq(ready, node) {
            // Woken already, and first in the queue: its stack is this one.
            // SAFETY: the running task.
            unsafe { point::leave_fiber(task) };
            return;
        }
        let to = if ready.is_null() {
            self.stacks.take_idle(self)
        } else {
            // SAFETY: a ready node is blocked, its stack is saved, and it is in no queue any more.
            unsafe { (*ready).saved.with(|saved| *saved) }
        };
        // SAFETY: `to` is a saved stack of a fiber that nobody else goes on with; `node` outlives the wait.
        unsafe { (*node).saved.with_mut(|saved| switch(saved, to)) };
        // SAFETY: the running task.
        unsafe { point::leave_fiber(task) };
        self.running.set(running);
        self.budget.set(BUDGET);
    }

    /// The same in threads mode. (To find out once, and first, costs a fiber less than to ask at each step.)
    ///
    /// # Safety
    /// As for `suspend`.
    #[inline(never)]
    unsafe fn suspend_thread(&'static self, node: *const Node) {
        let running = self.running.get();
        // SAFETY: what runs.
        let task = unsafe { running.seat() };
        // SAFETY: the running task, and its wait.
        if unsafe { point::enter_thread(self, task, node) } {
            return;
        }
        let left = self.turns_left.load(Relaxed);
        let ready = if left == 0 {
            null_mut()
        } else {
            self.turns_left.store(left - 1, Relaxed);
            self.take_ready()
        };
        if std::ptr::eq(ready, node) {
            // SAFETY: the running task.
            unsafe { point::leave(self, task) };
            return;
        }
        let to = if ready.is_null() {
            self.stacks.take_idle(self)
        } else {
            // SAFETY: as above. (Its thread may be about to park: see `relief`.)
            unsafe { (*ready).saved.with(|saved| *saved) }
        };
        // SAFETY: as above, of a thread.
        unsafe { (*node).saved.with_mut(|saved| self.stacks.switch(self, saved, to)) };
        let w = self.still();
        // SAFETY: the running task.
        unsafe { point::leave(w, task) };
        w.running.set(running);
        w.budget.set(BUDGET);
    }

    /// A node for what runs on this worker now.
    #[inline(always)]
    pub fn node(&self) -> Node {
        Node::saved(Some(self.as_static()), self.stacks.here())
    }

    /// Is there enough stack left to run another task on top of this frame?
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.stacks.has_room()
    }

    /// Lets all ready tasks run first.
    pub fn yield_now(&'static self) {
        let task = point::running(self);
        // (A yield promises nothing: with no memory for a stack, it goes on.)
        if self.ensure_stack().is_ok() {
            self.drain_inbox();
            let node = self.node();
            self.make_ready(&raw const node as *mut Node);
            // SAFETY: the node is ours, in the ready ring, where it is found exactly once.
            unsafe { self.suspend(&node) };
        }
        // SAFETY: it runs again.
        unsafe { point::check_of(task) };
    }

    /// Waits with a frame that must stand, when there is no stack on which the worker could go on meanwhile. What it waits for
    /// has been started, here or elsewhere, and may need other tasks of this worker: those that are ready have stacks of
    /// their own. (Unstarted ones need another worker.)
    #[cold]
    pub fn wait_without_stack(&'static self, is_over: impl Fn() -> bool) {
        let mut w = self.still();
        while !is_over() {
            w.drain_inbox();
            w.timers.poll(w);
            w = w.still();
            let ready = w.take_ready();
            if ready.is_null() {
                crate::sys::thread::yield_now();
                continue;
            }
            let running = w.running.get();
            let node = w.node();
            w.make_ready(&raw const node as *mut Node);
            // Straight to the other one: the loop, as in `suspend`, would need a stack.
            // SAFETY: a ready node is blocked, with its stack saved, and in no queue any more. Ours is in the ready ring, where
            // it is found exactly once.
            unsafe {
                let to = (*ready).saved.with(|saved| *saved);
                node.saved.with_mut(|saved| w.stacks.switch(w, saved, to));
            }
            w = w.still();
            w.running.set(running);
        }
    }

    /// The member, for ever.
    #[inline(always)]
    pub fn as_static(&self) -> &'static Member {
        // SAFETY: workers live for ever (made by `Hub` in leaked memory).
        unsafe { &*std::ptr::from_ref(&self.member) }
    }

    /// One operation of the running task's budget is used. When none is left, lets others run.
    #[inline(always)]
    pub fn spend(&'static self) {
        let left = self.budget.get();
        if left == 0 {
            self.spent();
        } else {
            self.budget.set(left - 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn spent(&'static self) {
        self.budget.set(BUDGET);
        // A destructor that runs because of a panic may use a lock or a channel as long as it need not wait: it is not made to.
        if !std::thread::panicking() {
            self.yield_now();
        }
    }

    /// The worker that `member` belongs to.
    #[inline(always)]
    fn is(&self, member: &Member) -> bool {
        std::ptr::eq(&self.member, member)
    }
}

/// Turns between two looks at inbox, clock and the oldest task, while no timers are pending.
pub const SELDOM: u32 = 61;
/// The same while timers are.
pub const OFTEN: u32 = 7;

/// Wakes a blocked task or thread. `worker` is the calling thread's, if it is one.
///
/// # Safety
/// The node is blocked, or about to block having published itself, is in no list, and is woken by nobody else. It may be
/// gone when this returns.
#[inline(always)]
pub unsafe fn wake_node(worker: Option<&'static Worker>, node: *mut Node) {
    // SAFETY: the caller: the node stands until it is woken.
    let home = unsafe { (*node).home };
    match (home, worker) {
        (Some(home), Some(worker)) if worker.is(home) => worker.make_ready(node),
        // SAFETY: the caller.
        _ => unsafe { wake_elsewhere(home, worker, node) },
    }
}

/// The same for one to whom the caller has handed what it will work on: if it is on this worker it goes on next.
///
/// # Safety
/// As for [`wake_node`].
#[inline(always)]
pub unsafe fn wake_node_next(worker: Option<&'static Worker>, node: *mut Node) {
    // SAFETY: the caller: the node stands until it is woken.
    let home = unsafe { (*node).home };
    match (home, worker) {
        // SAFETY: the caller, and we are its home.
        (Some(home), Some(worker)) if worker.is(home) => unsafe { worker.make_next(node) },
        // SAFETY: the caller.
        _ => unsafe { wake_elsewhere(home, worker, node) },
    }
}

/// # Safety
/// As for [`wake_node`].
#[inline(never)]
unsafe fn wake_elsewhere(home: Option<&'static Member>, worker: Option<&'static Worker>, node: *mut Node) {
    match home {
        Some(home) => {
            let fence = worker.map_or(Fence::foreign(), |worker| worker.member.deque.fence);
            // SAFETY: the caller.
            unsafe { home.crew.send(home, node, &fence) }
        }
        // SAFETY: the caller.
        None => unsafe { foreign::open(&raw const (*node).gate) },
    }
}

/// Blocks the calling foreign thread until its node is woken.
pub fn block_thread(node: &Node) {
    if crate::cancel::thread::block(node, crate::sys::clock::Instant::NEVER).is_some() {
        return;
    }
    while !foreign::is_open(&node.gate) {
        foreign::wait(&node.gate, None);
    }
}

/// Queues a task that was woken, or comes from a foreign thread.
///
/// # Safety
/// `task` is a live record in no queue, and the caller's to queue.
#[inline]
pub unsafe fn schedule(task: *mut Header) {
    // SAFETY: the caller.
    let runtime = unsafe { (*task).runtime };
    match current() {
        // SAFETY: the caller; we are this worker.
        Some(worker) if worker.hub.number == runtime => unsafe { worker.push_any(task) },
        // SAFETY: the caller.
        _ => unsafe { Hub::of(runtime).inject(task, Comer::Known) },
    }
}

/// Frees a record's memory, on whatever thread.
///
/// # Safety
/// As for `Memory::dealloc`: the record is the caller's, and its payload is gone.
#[inline(always)]
pub unsafe fn free_record(worker: Option<&'static Worker>, task: *mut Header) {
    // SAFETY: the caller: the record is still ours.
    let class = unsafe { (*task).kind.class() };
    match worker {
        // SAFETY: the caller.
        Some(worker) => unsafe { worker.memory.dealloc(task.cast(), class) },
        // SAFETY: the caller.
        None => unsafe { memory::foreign().dealloc(task.cast(), class) },
    }
}
