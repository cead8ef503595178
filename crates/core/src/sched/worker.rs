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

use super::idle::Member;
use super::node::Node;
use super::ready::Ready;
use super::stacks::Stacks;
use crate::cancel::frames::Frames;
use crate::cancel::{ask, place, point};
use crate::lock::biaser::{self, Biaser};
use crate::runtime::hub::{Comer, Hub};
use crate::stack::pool::NoStack;
use crate::sys::atomic::{AtomicU32, Ordering::*, Overwrite};
use crate::sys::fence::Fence;
use crate::sys::futex::Gate;
use crate::sys::mutant::ord;
use crate::task::header::{Header, Kind};
use crate::task::memory::{self, Memory};
use crate::task::spawn;
use crate::time::timers::Timers;
use std::cell::{Cell, UnsafeCell};
use std::ptr::{null, null_mut};

/// Channel operations of a task before it lets others run.
pub const BUDGET: u32 = 128;

/// See the module's header.
#[repr(C)]
pub struct Worker {
    /// What others see. First, so that a pointer to the one is a pointer to the other.
    pub member: Member,
    /// The task that runs now; between tasks [`nobody`](Self::nobody). Null before the first turn.
    pub current: Cell<*const Header>,
    /// Turns (of the loop, and direct switches) until the next look at inbox, clock and the oldest task. A shutdown
    /// sets it to 0 from outside, again and again, for the owner may overwrite that.
    pub turns_left: AtomicU32,
    /// How many turns there are between two looks.
    pub turns: Cell<u32>,
    /// The next look is for the newest unstarted task, not the oldest.
    pub newest_next: Cell<bool>,
    /// It forces no steal before this time, in ticks.
    pub force_at: Cell<u64>,
    /// Operations left to the running task.
    pub budget: Cell<u32>,
    /// The locks' preference; `None` where there are too many workers.
    pub biaser: Cell<Option<&'static Biaser>>,
    ready: UnsafeCell<Ready>,
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
    /// Says in a record that its task is blocked here: see [`crate::cancel::place`].
    pub here: usize,
    /// Stands for a task between tasks, where destructors run that may block.
    pub nobody: Header,
    /// Tasks of scopes and frames that have begun here.
    pub frames: Frames,
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
    pub fn new(hub: &'static Hub, index: usize) -> Worker {
        Worker {
            member: Member::new(&hub.crew, index, 256),
            current: Cell::new(null()),
            turns_left: AtomicU32::new(SELDOM),
            turns: Cell::new(SELDOM),
            newest_next: Cell::new(false),
            force_at: Cell::new(0),
            budget: Cell::new(BUDGET),
            biaser: Cell::new(None),
            ready: UnsafeCell::new(Ready::default()),
            stacks: Stacks::default(),
            memory: Memory::new(),
            timers: Timers::default(),
            hub,
            number: hub.number,
            stack_flags: spawn::stack_flags(hub.number),
            here: place::here(index),
            nobody: Header::nobody(hub.number),
            frames: Frames::default(),
        }
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

    /// The task that runs now; null between tasks.
    pub fn task(&self) -> *const Header {
        let task = self.current.get();
        if std::ptr::eq(task, &self.nobody) { null() } else { task }
    }

    // ------------------------------------------------------------------------------------------------- unstarted tasks

    /// Queues an unstarted closure.
    ///
    /// # Safety
    /// The caller is this worker; `task` is a record in no queue.
    #[inline(always)]
    pub unsafe fn push(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.member.deque.push(task) } {
            // SAFETY: the caller.
            unsafe { self.hub.crew.answer(&self.member) };
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
            unsafe { self.hub.crew.answer(&self.member) };
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
            unsafe { self.hub.crew.answer(&self.member) };
        }
    }

    // ------------------------------------------------------------------------------------------------- blocked tasks

    /// A blocked task of this worker goes on, behind all that are ready.
    ///
    /// First come, first served, also for the one woken last, whose data is warm: so messages gather at a receiver before
    /// it runs. (A slot for the last one, as other schedulers have, made a ping-pong 6 ns faster, and cost a sieve of
    /// 2,000 tasks a switch for each message instead of one for several; and it needs rules against starvation.)
    #[inline(always)]
    pub fn make_ready(&self, node: *mut Node) {
        self.with_ready(|ready| ready.push(node));
    }

    /// The blocked task that goes on next; null if none is ready.
    #[inline(always)]
    pub fn take_ready(&self) -> *mut Node {
        self.with_ready(Ready::pop)
    }

    /// Is no blocked task ready?
    pub fn nothing_ready(&self) -> bool {
        self.with_ready(|ready| ready.is_empty())
    }

    #[inline(always)]
    fn with_ready<R>(&self, f: impl FnOnce(&mut Ready) -> R) -> R {
        // SAFETY: owner only, and no reference to the ring outlives a call of this method.
        f(unsafe { &mut *self.ready.get() })
    }

    /// Takes the inbox over into the ready ring. False if it was empty.
    pub fn drain_inbox(&self) -> bool {
        if self.member.door.inbox.is_empty() {
            return false;
        }
        self.member.door.inbox.take(|node| {
            // SAFETY: taken out of the inbox: a blocked node of ours, or a message.
            if unsafe { (*node).home.is_some() } {
                self.make_ready(node);
            } else {
                // SAFETY: it is a message, and ours; we are the worker.
                unsafe { ask::serve(self, node) };
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
    pub unsafe fn suspend(&self, node: *const Node) {
        let task = self.current.get();
        // SAFETY: the running task, and its wait.
        if unsafe { point::enter(self, task, node) } {
            return;
        }
        // Through the loop every so often: it looks at inbox, timers and the oldest unstarted task.
        let left = self.turns_left.load(Relaxed);
        let ready = if left == 0 {
            null_mut()
        } else {
            self.turns_left.store(left - 1, Relaxed);
            self.take_ready()
        };
        if std::ptr::eq(ready, node) {
            // Woken already, and first in the queue: its stack is this one.
            // SAFETY: the running task.
            unsafe { point::leave(task) };
            return;
        }
        // SAFETY: a ready node is blocked, its stack is saved (we are its home), and it is in no queue any more.
        let to = if ready.is_null() { self.stacks.take_idle() } else { unsafe { (*ready).saved.with(|saved| *saved) } };
        // SAFETY: `to` is a saved stack of this worker's kind that nobody else goes on with; `node` outlives the wait.
        unsafe { (*node).saved.with_mut(|saved| self.stacks.switch(saved, to)) };
        self.current.set(task);
        // SAFETY: the running task.
        unsafe { point::leave(task) };
        self.budget.set(BUDGET);
    }

    /// Is there enough stack left to run another task on top of this frame?
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.stacks.has_room()
    }

    /// Lets all ready tasks run first.
    pub fn yield_now(&self) {
        point::check(self);
        if self.ensure_stack().is_err() {
            // A yield promises nothing: with no memory for a stack, go on.
            return;
        }
        self.drain_inbox();
        let node = Node::new(Some(self.as_static()));
        self.make_ready(&raw const node as *mut Node);
        // SAFETY: the node is ours, in the ready ring, where this worker finds it exactly once.
        unsafe { self.suspend(&node) };
        point::check(self);
    }

    /// Waits with a frame that must stand, when there is no stack on which the worker could go on meanwhile. What it waits for
    /// has been started, here or elsewhere, and may need other tasks of this worker: those that are ready have stacks of
    /// their own. (Unstarted ones need another worker.)
    #[cold]
    pub fn wait_without_stack(&'static self, is_over: impl Fn() -> bool) {
        while !is_over() {
            self.drain_inbox();
            self.timers.poll(self);
            let ready = self.take_ready();
            if ready.is_null() {
                crate::sys::thread::yield_now();
                continue;
            }
            let task = self.current.get();
            let node = Node::new(Some(self.as_static()));
            self.make_ready(&raw const node as *mut Node);
            // Straight to the other one: the loop, as in `suspend`, would need a stack.
            // SAFETY: a ready node is blocked, with its stack saved, and in no queue any more. Ours is in the ready ring, where
            // this worker finds it exactly once.
            unsafe {
                let to = (*ready).saved.with(|saved| *saved);
                node.saved.with_mut(|saved| self.stacks.switch(saved, to));
            }
            self.current.set(task);
        }
    }

    /// The worker that a member belongs to.
    #[inline(always)]
    pub fn of(member: &'static Member) -> &'static Worker {
        // SAFETY: members outside of models are the first part of their worker, which lives for ever.
        unsafe { &*std::ptr::from_ref(member).cast::<Worker>() }
    }

    /// The member, for ever.
    #[inline(always)]
    pub fn as_static(&self) -> &'static Member {
        // SAFETY: workers live for ever (made by `Hub` in leaked memory).
        unsafe { &*std::ptr::from_ref(&self.member) }
    }

    /// One operation of the running task's budget is used. When none is left, lets others run.
    #[inline(always)]
    pub fn spend(&self) {
        let left = self.budget.get();
        if left == 0 {
            self.spent();
        } else {
            self.budget.set(left - 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn spent(&self) {
        self.budget.set(BUDGET);
        self.yield_now();
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
        // SAFETY: the caller; after the store the thread may go on and free the node: only its address is used.
        None => unsafe {
            let gate = &raw const (*node).gate;
            // Release: pairs with the Acquire in `block_thread`.
            (*gate).word.overwrite(0, ord(Release, "gate-release"));
            Gate::wake(gate);
        },
    }
}

/// Blocks the calling foreign thread until its node is woken.
pub fn block_thread(node: &Node) {
    if crate::cancel::thread::block(node, crate::sys::clock::Instant::NEVER).is_some() {
        return;
    }
    // Acquire: pairs with the Release in `wake_elsewhere`: what the waker did before.
    while node.gate.word.load(ord(Acquire, "gate-acquire")) != 0 {
        node.gate.wait(1, None);
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
