//! A worker: one thread of the pool, and what only it touches.
//!
//! ```text
//!  [shared: what others see] [owner only: current, ready, stacks, record memory, budget]
//! ```
//! A worker always runs [`super::run_loop::run`] on some pooled stack; a task is a plain call from
//! it. A task that blocks saves its stack into a node and switches to (a) the first ready task, or
//! (b) an idle stack parked in the loop, which may be a fresh one. Only the home worker resumes a
//! node, out of its own queues, that is after the switch: so "woken before saved" needs no care.
//!
//! **Invariant (stacks).** Whoever is about to block has first called [`Worker::ensure_stack`], so
//! that the idle list is not empty: the switch itself cannot fail.
//!
//! **Lifetime.** Workers live for ever and are used again by later runtimes (see [`super::idle`]).
//!
//! **Who may touch what.** All but `shared` belongs to the thread that has the worker's role: in
//! fiber mode its one thread, in threads mode the thread whose turn it is. `Worker` is `Sync` only
//! so that a reference can stand in a thread-local; methods are reached through [`current`], that
//! is, by that thread.
//!
//! **The role is a token.** In threads mode a task that has blocked may go on with *another*
//! worker's role, when its own is stuck ([`crate::sched::rescue::takeover`]): on the same thread,
//! but the worker is a different one. So whoever acts as a worker holds a [`Role`], and gives it
//! away to all that may wait: see there. [`crate::sched::wait::Caller`] asks anew at each use.

mod blocked;
pub(crate) mod dispatch;
mod role;
mod unstarted;

use crate::record::create;
pub(crate) use role::Role;

use super::idle::WorkerShared;
use super::priority::LaneState;
use super::stacks::Stacks;
use crate::queue::parked::{Home, Parked};
use crate::record::current::{CurrentTask, Running};
use crate::record::header::{Header, Kind};
use crate::record::memory::{self, Memory};
use crate::record::position;
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::fork;
use crate::sched::pool::{Origin, Pool};
use crate::sched::timers::Timers;
use crate::sched::wait::foreign;
use myriad_base::lock::bias_owner::BiasOwner;
use myriad_base::sys::atomic::{AtomicU32, Ordering::*};
use myriad_base::sys::fence::Fence;
use std::cell::Cell;
use std::ptr::{null, null_mut};

/// Channel operations of a task before it lets others run. (Some 2 µs. With half of it a relay of
/// futures on two workers takes an eighth longer: after each round a channel's lines move to the
/// other processor. Twice as much wins little, and the others wait.)
pub(crate) const BUDGET: u32 = 256;

/// See the module's header.
#[repr(C)]
pub(crate) struct Worker {
    /// What others see. First, so that a pointer to the one is a pointer to the other.
    pub shared: WorkerShared,
    /// The task that runs now, or its context; see [`Running`]. A switch saves and restores the
    /// word, whatever it is. Others look at it when the worker is stuck:
    /// [`Pool::name_running`](crate::sched::pool::Pool::name_running).
    pub running: Running,
    /// The blocked task that goes on before those in the ready queue, or null: see
    /// [`Worker::make_next`]. Fiber mode only.
    pub next: Cell<*mut Parked>,
    /// Turns (of the loop, and direct switches) until the next look at inbox, clock and the oldest
    /// task. A shutdown sets it to 0 from outside, again and again, for the owner may overwrite
    /// that.
    pub tick_countdown: AtomicU32,
    /// How many turns there are between two looks.
    pub tick_interval: Cell<u32>,
    /// What is entered with the next turn.
    pub run_next: dispatch::RunNext,
    /// Counts looks: which task the next one is for.
    pub fairness_step: Cell<u8>,
    /// Whose turn it was, where there are priorities.
    pub lanes: LaneState,
    /// It forces no steal before this time, in ticks.
    pub force_at: Cell<u64>,
    /// Operations left to the running task.
    pub budget: Cell<u32>,
    /// The locks' preference; `None` where there are too many workers.
    pub bias_owner: Cell<Option<&'static BiasOwner>>,
    /// Stacks, and which kind they are.
    pub stacks: Stacks,
    /// Free records.
    pub memory: Memory,
    /// Pending timers of tasks of this worker.
    pub timers: Timers,
    /// What all workers of the runtime share.
    pub pool: &'static Pool,
    /// Its number.
    pub number: u8,
    /// What the [flags](create::flags) of its tasks have in common.
    pub(crate) flags: u32,
    /// The flags of records on this worker's stacks.
    pub stack_flags: u32,
    /// The flags of records of a [guest's](Kind::GUEST) jobs on this worker's stacks.
    pub guest_stack_flags: u32,
    /// Says in a record that its task is blocked here: see `record::position`.
    pub here: usize,
    /// The number that is in [`here`](Self::here).
    pub home_number: u32,
    /// Tasks of scopes and frames that have begun here.
    pub scoped: ScopedTasks,
    /// How many tasks have ended on it whose records are in others' frames, and how many contexts.
    pub frames: AtomicU32,
    /// Pieces of user code under way that began here where no task ran, less those that have ended
    /// here: for shutdowns. (Signed, for in threads mode such code may end as another worker: only
    /// the sum over all workers says something, while they sleep or have ended.)
    pub alone: std::sync::atomic::AtomicIsize,
    /// How often it has come to look at inbox and clock: for the monitor, which sees whether it
    /// moves.
    pub tick_count: AtomicU32,
    /// The system's number of the thread that has the role.
    pub thread: std::sync::atomic::AtomicU32,
    /// A spare is on duty while workers are stuck.
    pub on_duty: std::sync::atomic::AtomicBool,
    /// One more than the runtime's workers, for when they are stuck.
    pub spare: bool,
}

// `Worker::of` finds the whole by the worker's address.
const _: () = assert!(std::mem::offset_of!(Worker, shared) == 0);

// SAFETY: see "Who may touch what" in the header.
unsafe impl Sync for Worker {}
// SAFETY: nothing in it belongs to a particular thread for good.
unsafe impl Send for Worker {}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("index", &self.shared.index).finish_non_exhaustive()
    }
}

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

/// The worker whose role the calling thread has.
#[inline(always)]
pub(crate) fn current() -> Option<Role> {
    // In a model all threads are foreign.
    if cfg!(loom) {
        return None;
    }
    let worker = CURRENT.with(Cell::get);
    // SAFETY: set to a worker by `set_current`, and workers live for ever. What the thread-local of
    // the calling thread names is the worker whose role that thread has.
    unsafe { worker.as_ref().map(|worker| Role::new(worker)) }
}

/// Makes the calling thread one of this worker's.
///
/// # Safety
/// The thread has that worker's role from here on, and no [`Role`] of another worker is used on it
/// any more.
pub(crate) unsafe fn set_current(worker: Option<&Worker>) {
    // (A worker that was hidden while its process was forked is the parent's: it stays hidden, and
    // begins no more of its parent's tasks.)
    let worker = worker.filter(|worker| {
        let is_here = !worker.pool.is_elsewhere();
        if !is_here {
            fork::stop_loop(worker);
        }
        is_here
    });
    CURRENT.with(|c| c.set(worker.map_or(null(), std::ptr::from_ref)));
}

impl Worker {
    /// Worker `index` of a pool. `home_number` is one of [`position::numbers`] that no other worker
    /// has, or [`position::THREADS`].
    pub(crate) fn new(pool: &'static Pool, index: usize, spare: bool, home_number: u32) -> Worker {
        Worker {
            shared: WorkerShared::new(&pool.workers, index, 256),
            running: Running::nothing(),
            next: Cell::new(null_mut()),
            tick_countdown: AtomicU32::new(SELDOM),
            tick_interval: Cell::new(SELDOM),
            run_next: dispatch::RunNext::default(),
            fairness_step: Cell::new(0),
            lanes: LaneState::default(),
            force_at: Cell::new(0),
            budget: Cell::new(BUDGET),
            bias_owner: Cell::new(None),
            stacks: Stacks::default(),
            memory: Memory::new(),
            timers: Timers::default(),
            pool,
            number: pool.number,
            flags: create::flags(Kind(0), pool.number),
            stack_flags: create::stack_flags(pool.number),
            guest_stack_flags: create::guest_stack_flags(pool.number),
            here: position::here(home_number),
            home_number,
            scoped: ScopedTasks::default(),
            frames: AtomicU32::new(0),
            alone: std::sync::atomic::AtomicIsize::new(0),
            tick_count: AtomicU32::new(0),
            thread: std::sync::atomic::AtomicU32::new(0),
            on_duty: std::sync::atomic::AtomicBool::new(false),
            spare,
        }
    }

    /// The worker that these shared fields belong to.
    #[inline(always)]
    pub(crate) fn of(shared: &'static WorkerShared) -> &'static Worker {
        // SAFETY: outside of models all workers are in workers, as their first field; workers live
        // for ever. (Made from a reference to the worker alone, so in the terms of Stacked Borrows
        // it is the exposed address that counts.)
        unsafe { &*std::ptr::from_ref(shared).cast() }
    }

    /// The running task, whose record is in the frame of another, is about to complete, and the
    /// frame may go: whoever asks what we run must not look at it, or not believe what it has read
    /// ([`Pool::name_running`]).
    #[inline]
    pub(crate) fn forget_frame(&self) {
        self.running.set(CurrentTask::NOTHING);
        self.forget();
    }

    /// What `running` said until now may go: a frame, or a context.
    #[inline]
    pub(crate) fn forget(&self) {
        // Release: `running`, for the Acquire in `name_running`; and before all that becomes of the
        // memory.
        self.frames.store(self.frames.load(Relaxed).wrapping_add(1), Release);
    }

    /// What runs here, or is about to, has a context: from now on tasks are pushed, joined and
    /// ended with that in mind. For good.
    #[inline]
    pub(crate) fn meet_context(&self) {
        self.shared.deque.set_contexts();
        self.stacks.bring_contexts();
    }

    /// (C2) of [`crate::sched::context`].
    #[inline(always)]
    pub(crate) fn debug_assert_knows_context(&self) {
        debug_assert!(
            !self.running.has_context() || self.shared.deque.has_contexts(),
            "the running task has a context"
        );
    }

    /// Is it a spare that may meet jobs which it does not begin? See [`crate::sched::spare`].
    #[inline]
    pub(crate) fn passes_jobs_over(&self) -> bool {
        self.spare && self.pool.has_guests()
    }

    /// The worker's thread begins (or, with `false`, ends) to work.
    pub(crate) fn prefer_locks(&self, yes: bool) {
        if yes {
            #[cfg(not(loom))]
            self.bias_owner.set(myriad_base::lock::bias_owner::take());
        } else if let Some(_biaser) = self.bias_owner.take() {
            #[cfg(not(loom))]
            // SAFETY: the worker's own right, which is taken out of it; the calling thread, which
            // is at the end of that worker's loop, is in no biased lock.
            unsafe {
                myriad_base::lock::bias_owner::give_back(_biaser);
            }
        }
    }

    /// Does it work in fiber mode? For all.
    #[inline(always)]
    pub(crate) fn are_fibers(&self) -> bool {
        !self.shared.ready.is_shared()
    }

    /// The record whose cancellation counts for what runs now ([`CurrentTask::cancel_record`]);
    /// null where no task runs.
    pub(crate) fn task(&self) -> *const Header {
        // SAFETY: the word is that of what runs here, which has not ended.
        let task = unsafe { self.running.get().cancel_record() };
        if CurrentTask::is_nobody(task) { null() } else { task }
    }
}

/// Turns between two looks at inbox, clock and the oldest task, while no timers are pending.
pub(crate) const SELDOM: u32 = 61;
/// Turns between two looks, while timers are pending.
pub(crate) const OFTEN: u32 = 7;

/// Wakes a blocked task or thread. `worker` is the calling thread's, if it is one.
///
/// # Safety
/// The node is blocked, or about to block having published itself, is in no list, and is woken by
/// nobody else. It may be gone when this returns.
#[inline(always)]
pub(crate) unsafe fn wake_node(worker: Option<&Worker>, node: *mut Parked) {
    // SAFETY: the node stands until it is woken, and only the caller wakes it (this function's
    // contract).
    let home = unsafe { (*node).home }.map(Home::shared);
    match (home, worker) {
        (Some(home), Some(worker)) if worker.is(home) => worker.make_ready(node),
        // SAFETY: the node is blocked, in no list, and nobody else wakes it: the contract of both
        // functions.
        _ => unsafe { wake_elsewhere(home, worker, node) },
    }
}

/// Wakes a blocked task or thread to which the caller has handed what it will work on: if it is on
/// this worker, it goes on next.
///
/// # Safety
/// The node is blocked, or about to block having published itself, is in no list, and is woken by
/// nobody else. It may be gone when this returns.
#[inline(always)]
pub(crate) unsafe fn wake_node_next(worker: Option<&Worker>, node: *mut Parked) {
    // SAFETY: the node stands until it is woken, and only the caller wakes it (this function's
    // contract).
    let home = unsafe { (*node).home }.map(Home::shared);
    match (home, worker) {
        // SAFETY: the node is blocked and in no list (this function's contract), and its home is
        // `worker`, the calling one.
        (Some(home), Some(worker)) if worker.is(home) => unsafe { worker.make_next(node) },
        // SAFETY: the node is blocked, in no list, and nobody else wakes it: the contract of both
        // functions.
        _ => unsafe { wake_elsewhere(home, worker, node) },
    }
}

/// # Safety
/// The node is blocked, or about to block having published itself, is in no list, and is woken by
/// nobody else. `home` is its home. It may be gone when this returns.
#[inline(never)]
unsafe fn wake_elsewhere(home: Option<&'static WorkerShared>, worker: Option<&Worker>, node: *mut Parked) {
    match home {
        Some(home) => {
            let fence = worker.map_or(Fence::foreign(), |worker| worker.shared.deque.fence);
            // SAFETY: the node is in no list, nobody else wakes it, and `home` is its home (this
            // function's contract).
            unsafe { home.workers.send(home, node, &fence) }
        }
        // SAFETY: the node has no home, so a foreign thread waits at its parker, which stands until
        // it is open; nobody else wakes the node, so nobody else opens it.
        None => unsafe { foreign::open(&raw const (*node).parker) },
    }
}

/// Blocks the calling foreign thread until its node is woken.
///
/// # Safety
/// The node is that of a wait of the calling thread's, which stands. The pointer was made of the
/// whole wait, which its [`End`](crate::queue::parked::End) looks at.
pub(crate) unsafe fn block_thread(node: *const Parked) {
    // SAFETY: what `block` asks for is this function's contract.
    if unsafe { crate::sched::cancel::thread::block(node, myriad_base::sys::clock::Instant::NEVER) }.is_some() {
        return;
    }
    // SAFETY: the wait stands.
    let parker = unsafe { &(*node).parker };
    while !foreign::is_open(parker) {
        foreign::wait(parker, None);
    }
}

/// Queues a task that was woken, or comes from a foreign thread.
///
/// # Safety
/// `task` is a live record in no queue, and the caller's to queue.
#[inline]
pub(crate) unsafe fn schedule(task: *mut Header) {
    // SAFETY: the record is live (this function's contract), and `runtime` does not change while it
    // is.
    let runtime = unsafe { (*task).runtime };
    match current() {
        // SAFETY: the record is in no queue and the caller's to queue (this function's contract),
        // and `current` says that the calling thread has this worker's role.
        Some(worker) if worker.pool.number == runtime => unsafe { worker.push_any(task) },
        // SAFETY: the record is live, of the pool with its `runtime`, in no queue, and the caller's
        // to queue (this function's contract).
        _ => unsafe { Pool::of(runtime).inject(task, Origin::Wake) },
    }
}

/// Frees a record's memory, on whatever thread.
///
/// # Safety
/// The record came from [`Memory::alloc`], is the caller's, and its payload is gone. Nobody uses it
/// afterwards, but for looks at `state`. `worker` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn free_record(worker: Option<&Worker>, task: *mut Header) {
    // SAFETY: the record is the caller's (this function's contract), so `kind` is what its task was
    // created with.
    let class = unsafe { (*task).kind.class() };
    match worker {
        // SAFETY: `task` came from an `alloc` of this class, which its `kind` says, and is used no
        // more (this function's contract); the calling thread has the worker's role.
        Some(worker) => unsafe { worker.memory.dealloc(task.cast(), class) },
        // SAFETY: `task` came from an `alloc` of this class, which its `kind` says, and is used no
        // more (this function's contract).
        None => unsafe { memory::foreign().dealloc(task.cast(), class) },
    }
}
