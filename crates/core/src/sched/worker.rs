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
//! Here stands what a worker consists of. Below `worker/`: `role.rs`, the token; `make.rs`, how a
//! worker is made; `peer.rs`, what other threads ask and tell; `own.rs`, what the worker's own
//! thread keeps; `wake.rs`, waking and blocking; `blocked.rs`, its blocked tasks; `unstarted.rs`
//! and `dispatch.rs`, tasks that have not begun; `turns.rs`, how long a task goes on.
//!
//! **The role is a token.** In threads mode a task that has blocked may go on with *another*
//! worker's role, when its own is stuck ([`crate::sched::rescue::takeover`]): on the same thread,
//! but the worker is a different one. So whoever acts as a worker holds a [`Role`], and gives it
//! away to all that may wait: see there. [`crate::sched::wait::Caller`] asks anew at each use.

mod blocked;
pub(crate) mod dispatch;
mod make;
mod own;
mod peer;
mod role;
mod turns;
mod unstarted;
mod wake;

pub(crate) use role::{Role, current, set_current};
pub(crate) use turns::{BUDGET, IO_COST, OFTEN, SELDOM, THREAD_BUDGET, THREAD_TICK_US};
pub(crate) use wake::{block, block_thread, schedule, wake_node, wake_node_next};

use super::counters::Counters;
use super::idle::WorkerShared;
use super::priority::PriorityState;
use super::stacks::{EndingThreads, Stacks};
use crate::record::create::KindWord;
use crate::record::current::Running;
use crate::record::memory::Memory;
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::driver::phases::Phases;
use crate::sched::pool::Pool;
use crate::sched::timers::locked::Timers;
use myriad_base::lock::bias_owner::BiasOwner;
use myriad_base::sys::atomic::AtomicU32;
use std::cell::Cell;

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
    /// Its idle threads that end, in threads mode.
    pub ending: EndingThreads,
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
    /// What it had spawned at its last tick, while futures were gathered on it.
    pub spawned_at_tick: Cell<u64>,
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

    /// What others know of the worker, for ever.
    #[inline(always)]
    pub(crate) fn as_static(&self) -> &'static Peer {
        // SAFETY: workers live for ever (made by `Worker::make` in leaked memory).
        unsafe { &*std::ptr::from_ref(self) }
    }
}
