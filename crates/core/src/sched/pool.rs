//! A pool of workers, and what its workers share: sleep and wake, the injector, the settings, the
//! threads. A runtime has one pool or several.
//!
//! **Lifetime.** Pools live for ever and are used again by later runtimes of their kind: a
//! wake that is still on its way when its task has ended the whole runtime finds memory that is
//! valid, and at worst wakes a worker that looks up once more. A pool whose tasks did not all end
//! is never used again: their frames may still refer to it.
//!
//! Here stand the pool's parts, and what others ask of it that needs no more. All else is below
//! `pool/`, by subject.

mod admission;
mod config;
mod dedicated;
mod delays;
mod handle;
pub(crate) mod hooks;
mod injector;
mod make;
mod names;
mod queue;
mod registry;
pub(crate) mod running;
mod task_id;
mod threads;
mod workers;

pub(crate) use admission::{Admission, Origin};
pub(crate) use config::{Config, MOST_SPARES, ThreadHooks};
pub(crate) use dedicated::{Dedicated, DedicatedTask};
pub use delays::ShutdownDelay;
pub(crate) use delays::ShutdownDelays;
pub use handle::Handle;
pub(crate) use handle::RuntimePools;
pub(crate) use registry::{MOST, lock_free};
pub use task_id::TaskId;
pub(crate) use task_id::number_in;

use crate::queue::policy::Policy;
use crate::record::header::Header;
use crate::record::task::Runnable;
use crate::sched::fork;
use crate::sched::idle::Workers;
use crate::sched::latency::Latency;
use crate::sched::worker::Peer;
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::clock::{Clock, Instant};
use myriad_base::sys::fence::Fence;
use myriad_base::sys::mutex::{Condvar, Mutex};
use std::collections::{HashMap, VecDeque};
// Not through `sys`: nothing of a pool but its `Workers` is in a loom model.
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};

/// See the module's header.
pub(crate) struct Pool {
    /// Waking and sleeping.
    pub workers: Workers,
    /// Counts groups.
    homes: AtomicUsize,
    /// The era of the process that has its threads: see [`crate::sched::fork`].
    era: AtomicU32,
    /// In `POOLS`, and in the records of its tasks.
    pub number: u8,
    /// How many runtimes have used it, up to the one that does: see [`Handle`](crate::Handle).
    /// Written under the injector's lock.
    term: AtomicU64,
    /// Handles of tasks that were left blocked when the runtime ended: as long as there are any,
    /// nobody gets the number.
    left: AtomicUsize,
    /// For good: the policy's queues stand in `workers`.
    policy: Policy,
    /// Fiber mode? For good: requests to look at a task go to fibers only, and may come late.
    fibers: bool,
    regular: OnceLock<Box<[&'static Peer]>>,
    /// Made when they were first needed, used again by later runtimes. Those in use are workers of
    /// the pool.
    spares: Mutex<Vec<&'static Peer>>,
    /// How many workers are open (see `rescue::takeover`): a hint for those who look for work.
    pub takeovers: AtomicUsize,
    /// Is a worker stuck? By the monitor, for those who move (see `rescue::takeover`).
    pub any_stuck: AtomicBool,
    /// Is a worker stuck, and has no other come to be stuck for a while? Then those who move also
    /// begin tasks that wait behind it (see `rescue::watch`).
    pub long_stuck: AtomicBool,
    /// Among its tasks there are jobs of guests, or were: see [`expect_jobs`](Self::expect_jobs).
    has_guests: AtomicBool,
    /// Spares take jobs of guests from the injector too: see [`set_rescue`](Self::set_rescue).
    rescue: AtomicBool,
    config: Mutex<Arc<Config>>,
    /// The pools of the runtime that uses it (`runtime::pools`) ...
    runtime_pools: Mutex<Arc<RuntimePools>>,
    /// ... and the pool of the first of them.
    main_pool: AtomicPtr<Pool>,
    injector: Mutex<Injector>,
    threads: Mutex<Threads>,
    changed: Condvar,
    /// Tasks with threads of their own.
    pub dedicated: Dedicated,
    pub delays: ShutdownDelays,
    names: Mutex<HashMap<usize, Arc<str>>>,
    ids: Mutex<HashMap<usize, TaskId>>,
    /// How long its tasks wait until they run, if that is measured. For good.
    pub latency: Option<Latency>,
    /// The clock of its tasks.
    pub clock: Clock,
    /// When the first of the sleepers looks up by itself, in nanoseconds.
    pub next_wake: AtomicU64,
    pub gather: crate::sched::gather::Gather,
    /// When a task that is injected may ask for ticks again, in the processor's ticks.
    next_request: AtomicU64,
}

#[derive(Debug, Default)]
struct Injector {
    queue: queue::InjectorQueue,
    /// Interactive tasks ...
    interactive: VecDeque<Runnable>,
    /// ... and background tasks.
    background: VecDeque<Runnable>,
    /// Tasks that only one worker may begin, by its number.
    pinned: HashMap<usize, VecDeque<Runnable>>,
    admission: Admission,
    /// Tasks of those who are in `run`: their records stand in the callers' frames.
    runs: Vec<RunTask>,
}

/// A task of a caller of `run`, whose frame has its record.
#[derive(Debug)]
struct RunTask(*mut Header);
// SAFETY: an address, which is compared, and shown under the lock to those who know that it stands.
unsafe impl Send for RunTask {}

/// Threads of the runtime: which there are, how many workers have started and ended.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    handles: HashMap<ThreadId, JoinHandle<()>>,
    /// Threads that are about to end.
    leaving: Vec<ThreadId>,
    started: usize,
    start_error: Option<NoStack>,
    ended: usize,
    /// The shutdown has not waited for all workers: the last one calls this.
    late: Option<fn(&'static Pool)>,
    blocked: usize,
    numbered: usize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.show("Pool", f)
    }
}

impl Pool {
    /// Shows the settings by which somebody knows it, under this name: users print runtimes and
    /// handles. Waits for no lock, for a program may print in the middle of anything: the name is
    /// left out while another thread changes the settings.
    pub(crate) fn show(&self, what: &str, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mode = if self.fibers { "fibers" } else { "threads" };
        let mut pool = f.debug_struct(what);
        if let Some(config) = self.config.try_lock() {
            pool.field("name", &config.name);
        }
        pool.field("workers", &self.regular_workers().len()).field("mode", &format_args!("{mode}"));
        pool.finish_non_exhaustive()
    }
}

impl Pool {
    /// Its threads, or one of them, are this process's.
    pub(crate) fn is_here(&self) {
        self.era.store(fork::era(), Relaxed);
    }

    /// Are its threads those of the process from which this one was forked?
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.era.load(Relaxed) != fork::era()
    }

    /// It is a pool of a runtime from now on, whose first pool is `main_pool`.
    pub(crate) fn join_family(&self, main_pool: &'static Pool, runtime_pools: Arc<RuntimePools>) {
        *self.runtime_pools.lock() = runtime_pools;
        // Relaxed: before there are tasks.
        self.main_pool.store(std::ptr::from_ref(main_pool).cast_mut(), Relaxed);
    }

    /// The pools of the runtime that uses it. None, once that has ended and no task of it is left.
    pub(crate) fn runtime_pools(&self) -> Arc<RuntimePools> {
        self.runtime_pools.lock().clone()
    }

    /// Are both pools of one runtime?
    pub(crate) fn is_of_same_runtime(&self, other: &Pool) -> bool {
        self.main_pool.load(Relaxed) == other.main_pool.load(Relaxed)
    }

    /// The time of this pool's tasks.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Its manual clock was moved: all workers look at their timers.
    pub(crate) fn clock_moved(&self) {
        // Pairs with the heavy fence in `Workers::sleep`: the clock against `sleeping`.
        Fence::foreign().light();
        self.workers.wake_all();
    }
}
