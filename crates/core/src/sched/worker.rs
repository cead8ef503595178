//! A worker: what all threads see of it, and what only its role touches.
//!
//! ```text
//!  WorkerShared   queues, sleep and wake: all that the models of these know of a worker
//!  Peer           = WorkerShared + words for monitor, shutdown and requests, timers: Sync
//!  Worker         = Peer + cells: next, budget, stacks, record memory: the role's, !Sync
//! ```
//! They are one object: each is the first field of the next.
//!
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
//! **Who may touch what.** All but the [`Peer`] belongs to the thread that has the worker's role:
//! in fiber mode its one thread, in threads mode the thread whose turn it is. The compiler keeps
//! that: other threads have a `&Peer`, and a `&Worker`, which is `!Sync`, comes from [`current`] or
//! from the `unsafe` [`Peer::own`]. Each field of `Peer` says who writes it.
//!
//! (Over 600 lines, of which a third are comments: the fields stand with the invariants that tie
//! them to each other, and what the worker does with them is in `worker/`.)
//!
//! **The role is a token.** In threads mode a task that has blocked may go on with *another*
//! worker's role, when its own is stuck ([`crate::sched::rescue::takeover`]): on the same thread,
//! but the worker is a different one. So whoever acts as a worker holds a [`Role`], and gives it
//! away to all that may wait: see there. [`crate::sched::wait::Caller`] asks anew at each use.

mod blocked;
pub(crate) mod dispatch;
mod role;
mod unstarted;

use crate::record::create::KindWord;
pub(crate) use role::Role;

use super::counters::Counters;
use super::idle::WorkerShared;
use super::priority::PriorityState;
use super::stacks::Stacks;
use crate::queue::parked::{Home, Parked, Resumable};
use crate::record::current::{CurrentTask, Running, RunsHere};
use crate::record::header::{Header, Kind};
use crate::record::held::Emptied;
use crate::record::memory::{self, Memory};
use crate::record::position;
use crate::record::task::{Runnable, TaskRef};
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::driver::phases::Phases;
use crate::sched::fork;
use crate::sched::lifecycle;
use crate::sched::pool::{Origin, Pool};
use crate::sched::timers::locked::Timers;
use crate::sched::wait::foreign;
use myriad_base::lock::bias_owner::BiasOwner;
use myriad_base::sys::atomic::{AtomicU32, Ordering::*};
use myriad_base::sys::fence::Fence;
use std::cell::Cell;
use std::ptr::null;

/// Channel operations of a task before it lets others run. (Some 2 µs. With half of it a relay of
/// futures on two workers takes an eighth longer: after each round a channel's lines move to the
/// other processor. Twice as much wins little, and the others wait.)
pub(crate) const BUDGET: u32 = 256;
/// So much of it an operation on a socket takes, whose call of the system is some microseconds.
pub(crate) const IO_COST: u32 = 8;
/// The same for a closure that goes on with its own thread, in threads mode: it costs a switch of
/// threads to let others run, some 3 µs, and not some nanoseconds. (Some 50 µs. With 256 a relay of
/// unbounded channels took 1.8 times as long as with threads of std's.)
pub(crate) const THREAD_BUDGET: u32 = 4096;

/// A worker as all threads see it: numbers that do not change, atomic words, and what has a lock
/// of its own. So it is `Sync` without a word of ours, and any thread may hold a reference.
///
/// Which threads write a word stands at each of them: nothing here is written by whoever likes.
#[repr(C)]
pub(crate) struct Peer {
    /// What the protocol of sleep and wake needs, and the worker's queues. First, so that a
    /// reference to it is one to the whole: [`Peer::of`].
    pub shared: WorkerShared,
    /// The task that runs now, or its context; see [`Running`]. Written by the worker: a switch
    /// saves and restores the word, whatever it is. Others look at it when the worker is stuck:
    /// [`Pool::name_running`](crate::sched::pool::Pool::name_running).
    pub running: Running,
    /// What the future that is polled here waits for, as far as its operations have said so: the
    /// word that its record gets, for dumps. Written by the worker. (Atomic, for in threads mode a
    /// future that blocks in its poll may go on as another worker.)
    pub awaits: std::sync::atomic::AtomicUsize,
    /// Turns (of the loop, and direct switches) until the next look at inbox, clock and the oldest
    /// task. The worker counts it down, by a load and a store. Others store 0, to make the next
    /// turn a tick: the monitor, a shutdown, whoever queues an injected, interactive or pinned
    /// task. The worker may overwrite that, so who depends on it comes again.
    pub tick_countdown: AtomicU32,
    /// The turns since the last tick are fewer than usual.
    pub window_cut: std::sync::atomic::AtomicBool,
    /// How often the worker has come to look at inbox and clock. Written by the worker, read by the
    /// monitor, which sees whether it moves.
    pub tick_count: AtomicU32,
    /// How many tasks have ended on it whose records are in others' frames, and how many contexts.
    /// Written by the worker, read by whoever reads in the record of what it runs.
    pub frame_version: AtomicU32,
    /// The system's number of the thread that has the role. Written by that thread, read by the
    /// monitor.
    pub thread: std::sync::atomic::AtomicU32,
    /// Futures that are woken here go behind all that are queued: the reactor wakes. Written by the
    /// worker. (Atomic, for in threads mode a waker of the user's may wait, and go on as another
    /// worker.)
    pub wakes_in_order: std::sync::atomic::AtomicBool,
    /// A spare is on duty while workers are stuck. Written by the monitor, and by the spare, which
    /// may give it up.
    pub on_duty: std::sync::atomic::AtomicBool,
    /// Pieces of user code under way that began here where no task ran, less those that have ended
    /// here: for shutdowns. Written by the worker. (Signed, for in threads mode such code may end
    /// as another worker: only the sum over all workers says something, while they sleep or have
    /// ended.)
    pub alone: std::sync::atomic::AtomicIsize,
    /// Stacks made and not ended. Written by the worker, and by one that takes over a stack of its.
    /// (Signed: a thread that goes on with another worker is counted there, by that worker; only
    /// the sum over all workers is exact, once they have ended.)
    stacks_made: std::sync::atomic::AtomicIsize,
    /// What has happened here.
    pub counters: Counters,
    /// Pending timers of tasks of this worker, under their lock.
    pub timers: Timers,
    /// Tasks of scopes and frames that have begun here: by the worker, or under their lock.
    pub scoped: ScopedTasks,
    /// What all workers of the runtime share.
    pub pool: &'static Pool,
    /// Its pool's number.
    pub number: u8,
    /// One more than the runtime's workers, for when they are stuck.
    pub spare: bool,
    /// The number that is in [`Worker::here`].
    pub home_number: u32,
}

/// What only the role touches: a [`Peer`], and cells behind it. A reference to it cannot leave its
/// thread, for the cells make it `!Sync`, and there are two ways to one: a [`Role`], and the
/// `unsafe` [`Peer::own`].
#[repr(C)]
pub(crate) struct Worker {
    /// What others see. First, so that a reference to the one is one to the other.
    peer: Peer,
    /// The blocked task that goes on before those in the ready queue: see
    /// [`Worker::make_next`]. Fiber mode only.
    pub next: blocked::Next,
    /// How many turns there are between two looks.
    pub tick_interval: Cell<u32>,
    /// How long it was idle and busy of late: with a reactor.
    pub phases: Phases,
    /// What is entered with the next turn.
    pub run_next: dispatch::RunNext,
    /// Counts looks: which task the next one is for.
    pub fairness_step: Cell<u8>,
    /// The last tick in which it took an injected task because it was asked to, and how many such
    /// ticks came one after the other.
    pub requested: Cell<(u32, u32)>,
    /// Of the ticks that were asked for and found nothing injected, the last one was passed over.
    pub skipped_last: Cell<bool>,
    /// When the turns began that the next tick measures, in ticks of the processor's clock.
    pub window_began: Cell<u64>,
    /// How often a tick was passed over among those turns: see [`THREAD_TICK_US`].
    pub ticks_passed_over: Cell<u32>,
    /// Whose turn it was, where there are priorities.
    pub priority_state: PriorityState,
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
    /// What the kind words of its tasks have in common.
    pub(crate) kind_word: KindWord,
    /// Of records on this worker's stacks.
    pub stack_kind_word: KindWord,
    /// Of records of a [guest's](Kind::GUEST) jobs on this worker's stacks.
    pub guest_stack_kind_word: KindWord,
    /// Says in a record that its task is blocked here: see `record::position`.
    pub here: usize,
}

// `Peer::of` and `Peer::own` find the whole by the address of its first field.
const _: () = assert!(std::mem::offset_of!(Peer, shared) == 0 && std::mem::offset_of!(Worker, peer) == 0);

// By what their fields are, a peer is for all threads, and a worker is not: were it `Sync`, both
// implementations of `Ambiguous` would fit.
const _: () = {
    const fn is_sync<T: Sync>() {}
    is_sync::<Peer>();
    trait Ambiguous<A> {
        const CHOICE: () = ();
    }
    struct ForSync;
    impl<T> Ambiguous<()> for T {}
    impl<T: Sync> Ambiguous<ForSync> for T {}
    <Worker as Ambiguous<_>>::CHOICE
};

impl std::ops::Deref for Worker {
    type Target = Peer;
    #[inline(always)]
    fn deref(&self) -> &Peer {
        &self.peer
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker").field("index", &self.shared.index).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.peer.fmt(f)
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
pub(crate) unsafe fn set_current(worker: Option<&'static Peer>) {
    // (A worker that was hidden while its process was forked is the parent's: it stays hidden, and
    // begins no more of its parent's tasks.)
    let worker = worker.filter(|worker| {
        let is_here = !worker.pool.is_elsewhere();
        if !is_here {
            fork::stop_loop(worker);
        }
        is_here
    });
    CURRENT.with(|c| c.set(worker.map_or(null(), Peer::whole)));
}

impl Peer {
    /// The worker that these fields belong to.
    #[inline(always)]
    pub(crate) fn of(shared: &'static WorkerShared) -> &'static Peer {
        // SAFETY: each `WorkerShared` is the first field of a `Peer` that lives for ever: the
        // contract of `WorkerShared::new`, which models, that never come here, alone take lightly.
        // (Made from a reference to the field alone, so in the terms of Stacked Borrows it is the
        // exposed address that counts.)
        unsafe { &*std::ptr::from_ref(shared).cast() }
    }

    /// The worker with what only its role touches: a place to compare, or to remember.
    #[inline(always)]
    fn whole(&'static self) -> *const Worker {
        std::ptr::from_ref(self).cast()
    }

    /// The worker with what only its role touches.
    ///
    /// # Safety
    /// The calling thread has this worker's role, and uses the reference no longer than that.
    #[inline(always)]
    pub(crate) unsafe fn own(&'static self) -> &'static Worker {
        // SAFETY: all peers are the first field of a `Worker` that lives for ever, for
        // `Worker::make` alone makes them. Nobody else is in the cells: the calling thread has the
        // role (this function's contract).
        unsafe { &*self.whole() }
    }

    /// So many stacks more.
    pub(crate) fn count_stacks(&self, more: isize) {
        // Relaxed: a number; at the end of a runtime it is ordered by the lock of its threads.
        self.stacks_made.fetch_add(more, Relaxed);
    }

    /// Stacks that are neither ended nor counted elsewhere.
    pub(crate) fn counted_stacks(&self) -> isize {
        self.stacks_made.load(Relaxed)
    }

    /// Of these the ones that run nothing, and wait to be used. An estimate, for any thread.
    pub(crate) fn idle_stacks(&'static self) -> usize {
        // SAFETY: all peers are the first field of a `Worker` that lives for ever. Only an atomic
        // word of it is reached, by a reference to that word.
        unsafe { (*self.whole()).stacks.idle_count.load(Relaxed) }
    }

    /// How many of its blocked closures are ready, and how often one has gone on. An estimate, for
    /// any thread.
    pub(crate) fn ready(&'static self) -> (usize, u64) {
        let (ready, gone) = self.shared.ready.counts();
        // SAFETY: all peers are the first field of a `Worker` that lives for ever, and only atomic
        // words of it are reached.
        let (has_next, gone_next) = unsafe { (!(*self.whole()).next.is_empty(), (*self.whole()).next.gone()) };
        (ready + usize::from(has_next), gone as u64 + gone_next)
    }

    /// Free records that the worker held when it [said](Memory::show) so last. For any thread.
    pub(crate) fn free_records(&'static self) -> usize {
        // SAFETY: all peers are the first field of a `Worker` that lives for ever, and so are its
        // lists; no reference to them is made here.
        unsafe { Memory::shown(&raw const (*self.whole()).memory) }
    }

    /// All its stacks are gone, or it has so many.
    pub(crate) fn set_stacks(&self, n: isize) {
        self.stacks_made.store(n, Relaxed);
    }

    /// The next turn of its loop is a tick, unless it has just begun one: who depends on it asks
    /// again.
    #[inline]
    pub(crate) fn request_tick(&self) {
        // Relaxed: a hint, which publishes nothing.
        self.window_cut.store(true, Relaxed);
        self.tick_countdown.store(0, Relaxed);
    }

    /// Does it work in fiber mode? For all.
    #[inline(always)]
    pub(crate) fn are_fibers(&self) -> bool {
        !self.shared.ready.is_shared()
    }

    /// What others know of the worker, for ever.
    #[inline(always)]
    pub(crate) fn as_static(&self) -> &'static Peer {
        // SAFETY: workers live for ever (made by `Worker::make` in leaked memory).
        unsafe { &*std::ptr::from_ref(self) }
    }
}

impl Worker {
    /// Makes worker `index` of a pool, for ever. `home_number` is one of [`position::numbers`] that
    /// no other worker has, or [`position::THREADS`].
    pub(crate) fn make(pool: &'static Pool, index: usize, spare: bool, home_number: u32) -> &'static Peer {
        let peer = Peer {
            // SAFETY: the first field of a peer, which is leaked below.
            shared: unsafe { WorkerShared::new(&pool.workers, index, 256) },
            running: Running::nothing(),
            tick_countdown: AtomicU32::new(SELDOM),
            window_cut: std::sync::atomic::AtomicBool::new(true),
            tick_count: AtomicU32::new(0),
            frame_version: AtomicU32::new(0),
            thread: std::sync::atomic::AtomicU32::new(0),
            awaits: std::sync::atomic::AtomicUsize::new(position::RUNS),
            wakes_in_order: std::sync::atomic::AtomicBool::new(false),
            on_duty: std::sync::atomic::AtomicBool::new(false),
            alone: std::sync::atomic::AtomicIsize::new(0),
            stacks_made: std::sync::atomic::AtomicIsize::new(0),
            counters: Counters::default(),
            timers: Timers::default(),
            scoped: ScopedTasks::default(),
            pool,
            number: pool.number,
            spare,
            home_number,
        };
        let worker = Worker {
            peer,
            next: blocked::Next::default(),
            tick_interval: Cell::new(SELDOM),
            phases: Phases::default(),
            run_next: dispatch::RunNext::default(),
            fairness_step: Cell::new(0),
            requested: Cell::new((0, 0)),
            skipped_last: Cell::new(false),
            window_began: Cell::new(0),
            ticks_passed_over: Cell::new(0),
            priority_state: PriorityState::default(),
            force_at: Cell::new(0),
            budget: Cell::new(BUDGET),
            bias_owner: Cell::new(None),
            stacks: Stacks::default(),
            memory: Memory::new(),
            kind_word: KindWord::new(Kind(0), pool.number),
            stack_kind_word: KindWord::on_stack(pool.number),
            guest_stack_kind_word: KindWord::guest_on_stack(pool.number),
            here: position::here(home_number),
        };
        Box::leak(Box::new(worker))
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
        self.frame_version.store(self.frame_version.load(Relaxed).wrapping_add(1), Release);
    }

    /// What runs here, or is about to, has a context: from now on tasks are pushed, joined and
    /// ended with that in mind. For good.
    #[inline]
    pub(crate) fn meet_context(&self) {
        self.set_contexts();
        self.stacks.bring_contexts();
    }

    /// Are the fences of its deque soft, and has no task of it had a context? (One test for both:
    /// at each push.)
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.deque().is_plain()
    }

    /// Has a task of this worker had a context?
    #[inline(always)]
    pub(crate) fn has_contexts(&self) -> bool {
        self.deque().has_contexts()
    }

    /// A task of this worker has a context. For good.
    #[inline]
    pub(crate) fn set_contexts(&self) {
        self.deque().set_contexts();
    }

    /// (C2) of [`crate::sched::context`].
    #[inline(always)]
    pub(crate) fn debug_assert_knows_context(&self) {
        debug_assert!(!self.running.has_context() || self.has_contexts(), "the running task has a context");
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

    /// A turn is over: locks that were leased for it are for all.
    #[inline(always)]
    pub(crate) fn end_leases(&self) {
        if let Some(bias_owner) = self.bias_owner.get() {
            // SAFETY: the worker's own right, and the role is the calling thread's, which is in no
            // biased lock: nothing that it does inside one comes to the loop.
            unsafe { bias_owner.end_turn() };
        }
    }

    /// The record of what runs now: of a task that has not ended, or nobody's.
    #[inline(always)]
    pub(crate) fn running_record(&self) -> *const Header {
        // SAFETY: the word is that of what runs here, which has not ended.
        unsafe { self.running.get().record() }
    }

    /// The record whose cancellation counts for what runs now.
    ///
    /// Valid while the role is not given away: who ends what runs here, or has something else run,
    /// takes the role.
    #[inline(always)]
    pub(crate) fn runs_here(&self) -> RunsHere<'_> {
        // SAFETY: the word is that of what runs here, which has not ended.
        unsafe { self.running.get().runs_here() }
    }

    /// The task of that record, if one runs.
    pub(crate) fn task(&self) -> Option<TaskRef<'_>> {
        self.runs_here().task()
    }
}

/// Turns between two looks at inbox, clock and the oldest task, while no timers are pending.
pub(crate) const SELDOM: u32 = 61;
/// Turns between two looks, while timers are pending.
pub(crate) const OFTEN: u32 = 7;

/// In threads mode a tick is an exchange of threads more, where tasks go on one after the other. So
/// a worker that ticks [often](OFTEN) does so no sooner than this after its last tick, in
/// microseconds, if there is nothing that a tick would find but events of sockets. (Of an echo
/// server of 64 connections that was one exchange in eight.)
pub(crate) const THREAD_TICK_US: u64 = 1000;

/// Wakes a blocked task or thread. `worker` is the calling thread's, if it is one.
#[inline(always)]
pub(crate) fn wake_node(worker: Option<&Worker>, node: Resumable) {
    let home = node.home().map(Home::shared);
    lifecycle::woken(node.address());
    match (home, worker) {
        // SAFETY: the node's home is `worker`, the calling one.
        (Some(home), Some(worker)) if worker.is(home) => unsafe { worker.make_ready(node) },
        _ => wake_elsewhere(worker, node),
    }
}

/// Wakes a blocked task or thread to which the caller has handed what it will work on: if it is on
/// this worker, it goes on next.
#[inline(always)]
pub(crate) fn wake_node_next(worker: Option<&Worker>, node: Resumable) {
    let home = node.home().map(Home::shared);
    lifecycle::woken(node.address());
    match (home, worker) {
        // SAFETY: the node's home is `worker`, the calling one.
        (Some(home), Some(worker)) if worker.is(home) => unsafe { worker.make_next(node) },
        _ => wake_elsewhere(worker, node),
    }
}

#[inline(never)]
fn wake_elsewhere(worker: Option<&Worker>, node: Resumable) {
    match node.home().map(Home::shared) {
        Some(home) => {
            if home.ready.is_measured() {
                Peer::of(home).pool.latency.iter().for_each(|latency| latency.ready(node.address()));
            }
            let fence = worker.map_or(Fence::foreign(), |worker| worker.shared.deque.fence);
            // SAFETY: `home` is the node's home.
            unsafe { home.workers.send(home, node, &fence) }
        }
        // SAFETY: the node has no home, so a foreign thread waits at its parker, which stands until
        // it is open; only this caller wakes the node, so nobody else opens it.
        None => unsafe { foreign::open(&raw const (*node.into_raw()).parker) },
    }
}

/// Blocks what calls, a task of this worker or a foreign thread, until its node is woken. Returns
/// the role with which a task goes on.
///
/// # Safety
/// Of a task, the conditions of [`Role::suspend`]; of a thread, those of [`block_thread`].
#[inline]
pub(crate) unsafe fn block(w: Option<Role>, node: *const Parked) -> Option<Role> {
    // SAFETY: this function's contract is that of either.
    unsafe {
        match w {
            Some(w) => Some(w.suspend(node)),
            None => {
                block_thread(node);
                None
            }
        }
    }
}

/// Blocks the calling foreign thread until its node is woken.
///
/// # Safety
/// The node is that of a wait of the calling thread's, which stands. The pointer was made of the
/// whole wait, which its [`CancelFn`](crate::queue::parked::CancelFn) looks at.
pub(crate) unsafe fn block_thread(node: *const Parked) {
    // SAFETY: what `block` asks for is this function's contract.
    if unsafe { crate::sched::cancel::thread::block(node, myriad_base::sys::clock::Instant::NEVER) }.is_some() {
        return;
    }
    // SAFETY: the wait stands.
    let parker = unsafe { &(*node).parker };
    while !foreign::is_open(parker) {
        // SAFETY: the same wait.
        unsafe { foreign::wait_at(node, None) };
    }
}

/// Queues a task that was woken, or comes from a foreign thread.
#[inline]
pub(crate) fn schedule(task: Runnable) {
    match current() {
        Some(worker) if worker.pool.number == task.header().runtime() => {
            if worker.wakes_in_order.load(Relaxed) {
                worker.push_last(task);
            } else {
                worker.push_woken(task);
            }
        }
        _ => Pool::of_task(task.task_ref()).inject(task, Origin::Wake),
    }
}

/// Frees a record's memory, on whatever thread. `worker` is the calling thread's.
#[inline(always)]
pub(crate) fn free_record(worker: Option<&Worker>, record: Emptied) {
    let task = record.task_ref();
    let class = task.kind().class();
    // SAFETY: the record came from an `alloc` of this class, which its `kind` says, and is used no
    // more (`Emptied`). Who has a `&Worker` has the worker's role.
    unsafe {
        match worker {
            Some(worker) => worker.memory.dealloc(task.as_ptr().cast(), class),
            None => memory::global_free_list().dealloc(task.as_ptr().cast(), class),
        }
    }
}
