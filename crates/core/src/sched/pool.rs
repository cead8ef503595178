//! A pool of workers, and what its workers share: sleep and wake, the injector, the settings, the
//! threads. A runtime has one pool or several.
//!
//! **Lifetime.** Pools live for ever and are used again by later runtimes of their kind: a
//! wake that is still on its way when its task has ended the whole runtime finds memory that is
//! valid, and at worst wakes a worker that looks up once more. A pool whose tasks did not all end
//! is never used again: their frames may still refer to it.
//!
//! (Over 600 lines: the settings, the free list and the pool itself name each other. What the pool
//! does stands in the files below `pool/`; another file of types would be one more in the engine's
//! largest cycle of files.)

mod dedicated;
mod delays;
mod handle;
mod hooks;
mod injector;
mod names;
mod queue;
mod threads;

pub(crate) use dedicated::{Dedicated, DedicatedTask};
pub use delays::ShutdownDelay;
pub(crate) use delays::ShutdownDelays;
pub use handle::Handle;
pub(crate) use handle::RuntimePools;
pub(crate) use hooks::{ThreadHooks, is_in_hook_of_global};
pub use names::TaskId;
pub(crate) use names::number_in;

use crate::queue::policy::Policy;
use crate::queue::policy::scheduler::Hosted;
use crate::record::current::CurrentTask;
use crate::record::header::{Header, Kind};
use crate::record::position;
use crate::record::task::{Runnable, TaskRef};
use crate::sched::fork;
use crate::sched::idle::Workers;
use crate::sched::latency::Latency;
use crate::sched::rescue::stuck::OnStuck;
use crate::sched::unhandled::Unhandled;
use crate::sched::unwind;
use crate::sched::worker::{Peer, Worker};
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::clock::{Clock, Instant};
use myriad_base::sys::fence::Fence;
use myriad_base::sys::mutex::{Condvar, Mutex, MutexGuard};
use myriad_base::sys::thread::abort_with;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::null_mut;
// Not through `sys`: nothing of a pool but its `Workers` is in a loom model.
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};

/// The settings of a runtime, as the builder has checked them.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// How many workers.
    pub workers: usize,
    /// Fiber mode?
    pub fibers: bool,
    /// Bytes.
    pub stack_size: usize,
    /// Stacks of one worker.
    pub max_stacks: usize,
    /// What threads are called.
    pub name: String,
    /// One core for each worker: which, if they are to be pinned.
    pub cpus: Option<Vec<usize>>,
    /// Else: what the threads are to be freed for, if the one that starts them may be pinned
    /// itself.
    pub roam: Option<Vec<usize>>,
    /// What becomes of the panic of a detached task.
    pub unhandled: Unhandled,
    /// Time stands still but for `Runtime::advance`.
    pub manual_clock: bool,
    /// Workers for when others are stuck, at most.
    pub spares: usize,
    /// Who is told when a worker is stuck.
    pub stuck: OnStuck,
    /// What a worker starts next.
    pub policy: Policy,
    /// The scheduler of [`Policy::Custom`].
    pub scheduler: Option<Arc<Hosted>>,
    /// Of each worker the others, the nearest first; `None` if all are equally near.
    pub nearest_first: Option<Box<[Box<[u16]>]>>,
    /// What happens with each of its threads.
    pub threads: ThreadHooks,
    /// Is it measured how long tasks wait until they run?
    pub latency: bool,
}

/// The settings in use: they stay while somebody looks at them, perhaps longer than their runtime.
///
/// Whoever lets go of them last drops the user's functions: the runtime that ends, or a thread that
/// has just asked for a name. That is user code, so it comes through the door, wherever it is.
#[derive(Debug)]
pub(crate) struct Settings(ManuallyDrop<Arc<Config>>);

impl Deref for Settings {
    type Target = Config;
    fn deref(&self) -> &Config {
        &self.0
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: it is taken out of its place here alone, where nobody uses the place afterwards.
        let config = unsafe { ManuallyDrop::take(&mut self.0) };
        // Each by itself: destructors may panic.
        if let Some(Config { threads, stuck, unhandled, scheduler, .. }) = Arc::into_inner(config) {
            let ThreadHooks { name, start, end, .. } = threads;
            unwind::drop_quietly(name);
            unwind::drop_quietly(start);
            unwind::drop_quietly(end);
            unwind::drop_quietly(stuck);
            unwind::drop_quietly(unhandled);
            unwind::drop_quietly(scheduler);
        }
    }
}

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

/// Whose tasks the injector takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Nobody's: the runtime has stopped, or has not begun.
    #[default]
    Nobody,
    /// Those of the runtime's own tasks: the runtime is being shut down.
    OwnTasks,
    /// All.
    All,
}

/// Where a task comes from that enters the injector. The number is the term of a handle, which may
/// be older than the runtime that uses the pool now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A thread outside of the runtime has spawned the task.
    Outside(u64),
    /// A task of the same runtime has spawned the task: in another pool, or on a thread of its own.
    SameRuntime(u64),
    /// A future of this runtime was woken from outside.
    Wake,
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

/// The stacks of a pool's workers stay mapped, and who is in `run` stays there.
pub(crate) struct FramesStay<'a>(MutexGuard<'a, Injector>);

impl FramesStay<'_> {
    /// The tasks of all who are in `run`.
    pub(crate) fn runs(&self) -> impl Iterator<Item = *const Header> {
        self.0.runs.iter().map(|run| run.0.cast_const())
    }
}

/// The most spare workers of a runtime.
pub(crate) const MOST_SPARES: usize = 1024;

/// The most pools of a process: their numbers are a byte in each record.
pub(crate) const MOST: usize = 256;
static POOLS: [AtomicPtr<Pool>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
static FREE: Mutex<Free> =
    Mutex::new(Free { clean: Vec::new(), unclean: Vec::new(), numberless: Vec::new(), numbers: 0 });

/// For `fork`.
pub(crate) type FreeLock = MutexGuard<'static, Free>;

/// For `fork`: nobody else changes the list meanwhile.
pub(crate) fn lock_free() -> FreeLock {
    FREE.lock()
}

/// Pools that no runtime uses.
pub(crate) struct Free {
    /// All their tasks have ended: they are used again.
    clean: Vec<&'static Pool>,
    /// Frames of blocked tasks refer to them for ever, so they are not. Their numbers are.
    unclean: Vec<&'static Pool>,
    /// Those whose number another pool has now. Nobody looks here but leak checkers: frames and
    /// requests may refer to such a pool.
    numberless: Vec<&'static Pool>,
    /// How many numbers were ever given out.
    numbers: usize,
}

impl Free {
    /// Takes its number from a pool of this list.
    fn give_number(&mut self, i: usize, list: impl Fn(&mut Free) -> &mut Vec<&'static Pool>) -> u8 {
        let pool = list(self).swap_remove(i);
        self.numberless.push(pool);
        pool.number
    }

    /// A number for a new pool.
    ///
    /// That of a pool which has ended is free when nobody looks it up any more: the records of its
    /// tasks are done, and no handle has one of them. The old pool itself stays where it is.
    fn number(&mut self) -> io::Result<u8> {
        if self.numbers < MOST {
            self.numbers += 1;
            return Ok((self.numbers - 1) as u8);
        }
        // Acquire: pairs with the Release in `forget_left`: the last looks at a record.
        if let Some(i) = self.unclean.iter().position(|pool| pool.left.load(Acquire) == 0) {
            return Ok(self.give_number(i, |free| &mut free.unclean));
        }
        if let Some(last) = self.clean.len().checked_sub(1) {
            return Ok(self.give_number(last, |free| &mut free.clean));
        }
        let held = self.unclean.len();
        Err(io::Error::other(format!(
            "there are {MOST} runtimes and pools already: {} that run, or whose workers have not come back from a task; and {held} that \
             have ended with blocked tasks, of which somebody still has handles. Shut some down, share one (tasks of many kinds \
             can run on it), or drop the handles of tasks that were left (each shutdown's report names them)",
            MOST - held
        )))
    }
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

/// Numbers for so many new workers: the first one of them.
fn home_numbers(fibers: bool, workers: usize) -> io::Result<u32> {
    if !fibers {
        return Ok(position::THREADS);
    }
    position::numbers(workers).ok_or_else(|| {
        io::Error::other(format!(
            "this process has made too many workers in fiber mode for {workers} more: workers are used again only by a runtime \
             with as many of them and the same policy, so give the runtimes that you build one after the other the same settings"
        ))
    })
}

#[cold]
#[inline(never)]
fn no_pool() -> ! {
    abort_with("a task without a pool was asked for it (a bug in Myriad)")
}

impl Pool {
    /// The pool of this number.
    ///
    /// # Safety
    /// The number is a pool's: it stands in the record of a task, or has stood there.
    #[inline]
    pub(crate) unsafe fn of(number: u8) -> &'static Pool {
        // SAFETY: a pool was made before any of its records (this function's contract), and pools
        // live for ever.
        unsafe { &*POOLS[usize::from(number)].load(Acquire) }
    }

    /// The pool of a task.
    #[inline]
    pub(crate) fn of_task(task: TaskRef<'_>) -> &'static Pool {
        // (One that was never let into a pool, for there was none, has no number of a pool.)
        // SAFETY: pools live for ever.
        let pool = unsafe { POOLS[usize::from(task.runtime())].load(Acquire).as_ref() };
        pool.unwrap_or_else(|| no_pool())
    }

    /// Its threads, or one of them, are this process's.
    pub(crate) fn is_here(&self) {
        self.era.store(fork::era(), Relaxed);
    }

    /// Are its threads those of the process from which this one was forked?
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.era.load(Relaxed) != fork::era()
    }

    /// May a runtime with these settings use this pool, which another one has used?
    fn suits(&self, config: &Config) -> bool {
        let measures = self.latency.is_some();
        let of_kind = (self.policy, self.fibers, measures) == (config.policy, config.fibers, config.latency);
        let nearest_first = config.nearest_first.as_deref();
        of_kind && self.workers.nearest_first() == nearest_first && self.regular_workers().len() == config.workers
    }

    /// A pool for a new runtime: an old one of its kind, or a new one.
    pub(crate) fn take(config: Config) -> io::Result<&'static Pool> {
        fork::watch();
        let pool = {
            let mut free = FREE.lock();
            match free.clean.iter().position(|pool| pool.suits(&config)) {
                Some(i) => free.clean.swap_remove(i),
                None => {
                    // (First, for a pool's number that is taken and not used is lost.)
                    let home_number = home_numbers(config.fibers, config.workers)?;
                    Pool::make(free.number()?, &config, home_number)
                }
            }
        };
        pool.begin_term();
        pool.is_here();
        pool.clock.begin(config.manual_clock);
        pool.latency.iter().for_each(Latency::restart);
        pool.next_wake.store(u64::MAX, Relaxed);
        pool.takeovers.store(0, Relaxed);
        pool.any_stuck.store(false, Relaxed);
        pool.long_stuck.store(false, Relaxed);
        pool.has_guests.store(false, Relaxed);
        pool.rescue.store(false, Relaxed);
        // (Of the last runtime's: code that ended as a spare, which may not be a worker now.)
        pool.regular_workers().iter().for_each(|w| w.alone.store(0, Relaxed));
        pool.workers.begin(config.workers);
        if let Some(table) = pool.workers.table() {
            // (The one before has gone with its runtime.)
            unwind::drop_quietly(table.set_scheduler(config.scheduler.clone()));
        }
        pool.set_config(config);
        *pool.threads.lock() = Threads::default();
        Ok(pool)
    }

    fn make(number: u8, config: &Config, home_number: u32) -> &'static Pool {
        let pool: &'static Pool = Box::leak(Box::new(Pool {
            workers: Workers::default(),
            homes: AtomicUsize::new(0),
            era: AtomicU32::new(0),
            number,
            term: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            policy: config.policy,
            fibers: config.fibers,
            regular: OnceLock::new(),
            spares: Mutex::default(),
            takeovers: AtomicUsize::new(0),
            any_stuck: AtomicBool::new(false),
            long_stuck: AtomicBool::new(false),
            has_guests: AtomicBool::new(false),
            rescue: AtomicBool::new(false),
            config: Mutex::new(Arc::new(config.clone())),
            runtime_pools: Mutex::new(Arc::new(RuntimePools::none())),
            main_pool: AtomicPtr::new(null_mut()),
            injector: Mutex::default(),
            threads: Mutex::default(),
            changed: Condvar::new(),
            dedicated: Dedicated::default(),
            names: Mutex::default(),
            ids: Mutex::default(),
            latency: config.latency.then(Latency::default),
            clock: Clock::real(),
            next_wake: AtomicU64::new(u64::MAX),
            delays: ShutdownDelays::new(),
            next_request: AtomicU64::new(0),
        }));
        if let Some(queues) = config.policy.queues(config.workers) {
            pool.workers.set_queues(queues);
        }
        if let Some(table) = pool.workers.table() {
            table.set_wake(|| pool.workers.scheduler_changed());
        }
        if let Some(order) = &config.nearest_first {
            pool.workers.set_nearest_first(order.clone());
        }
        let worker = |index| {
            let home_number = if config.fibers { home_number + index as u32 } else { home_number };
            Worker::make(pool, index, false, home_number)
        };
        let workers: Box<[&'static Peer]> = (0..config.workers).map(worker).collect();
        pool.workers.set_all(workers.iter().map(|w| &w.shared).collect(), MOST_SPARES);
        pool.regular.set(workers).expect("set once");
        POOLS[usize::from(number)].store(std::ptr::from_ref(pool).cast_mut(), Release);
        pool
    }

    /// No task of the ended runtime is left: another may use the pool. Its handles know no other
    /// pool any more.
    pub(crate) fn give_back(&'static self) {
        self.drop_hooks();
        *self.runtime_pools.lock() = Arc::new(RuntimePools::none());
        FREE.lock().clean.push(self);
    }

    /// Blocked tasks of the ended runtime are left, and its workers have all ended: another may
    /// have the pool's number.
    pub(crate) fn give_number_back(&'static self) {
        FREE.lock().unclean.push(self);
    }

    /// A task of the ended runtime is left blocked, and somebody has its handle.
    pub(crate) fn keep_left(&self) {
        self.left.fetch_add(1, Relaxed);
    }

    /// That handle goes.
    pub(crate) fn forget_left(&self) {
        // Release: the last looks at the record, for the Acquire of who gives the number to another
        // pool.
        self.left.fetch_sub(1, Release);
    }

    fn set_config(&self, config: Config) {
        let before = std::mem::replace(&mut *self.config.lock(), Arc::new(config));
        // Without the lock: what goes with it is user code.
        drop(Settings(ManuallyDrop::new(before)));
    }

    /// The runtime has ended: nobody calls the user's functions any more, and what they hold goes.
    fn drop_hooks(&self) {
        let mut config = Config::clone(&self.config());
        config.unhandled = Unhandled::Report;
        config.stuck = OnStuck::Ignore;
        config.threads = ThreadHooks::default();
        config.scheduler = None;
        self.set_config(config);
        if let Some(table) = self.workers.table() {
            unwind::drop_quietly(table.set_scheduler(None));
        }
    }

    /// Free records that the workers of all pools of the process hold. An estimate.
    pub(crate) fn count_free_records() -> usize {
        let numbers = FREE.lock().numbers;
        let of_pool = |number: usize| {
            // SAFETY: null, or a pool: pools live for ever.
            let Some(pool) = (unsafe { POOLS[number].load(Acquire).as_ref() }) else { return 0 };
            let regular: usize = pool.regular_workers().iter().map(|w| w.free_records()).sum();
            // (In the child of a fork another thread of the parent may have had the lock.)
            let spares = pool.spares.try_lock();
            regular + spares.map_or(0, |spares| spares.iter().map(|w| w.free_records()).sum())
        };
        (0..numbers).map(of_pool).sum()
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

    /// All workers.
    pub(crate) fn regular_workers(&self) -> &[&'static Peer] {
        self.regular.get().map_or(&[], |w| w)
    }

    /// The worker with this number, if it is one of this pool's that are in use.
    pub(crate) fn of_home_number(&self, number: u32) -> Option<&'static Peer> {
        let regular = self.regular_workers();
        // The numbers of the regular ones follow each other.
        let index = number.checked_sub(regular[0].home_number)? as usize;
        let found = regular.get(index).copied();
        found.or_else(|| self.all_workers().skip(regular.len()).find(|w| w.home_number == number))
    }

    /// All workers, with the spares that are in use.
    pub(crate) fn all_workers(&self) -> impl Iterator<Item = &'static Peer> {
        self.workers.all().iter().map(|&shared| Peer::of(shared))
    }

    /// From now on there may be jobs of guests among its tasks, which no spare begins: spares look
    /// before they take ([`crate::sched::spare`]).
    #[inline]
    pub(crate) fn expect_jobs(&self) {
        // Relaxed: a spare that does not know yet sees what it has stolen. (Looked at first: many
        // workers come by here.)
        if !self.has_guests.load(Relaxed) {
            self.has_guests.store(true, Relaxed);
        }
    }

    /// May there be jobs of guests?
    #[inline]
    pub(crate) fn has_guests(&self) -> bool {
        self.has_guests.load(Relaxed)
    }

    /// All workers stand still, and one of them not because of a guest: as long as that is so,
    /// spares take jobs from the injector too. By the monitor.
    pub(crate) fn set_rescue(&self, yes: bool) {
        // Relaxed: as above.
        self.rescue.store(yes, Relaxed);
    }

    /// Do spares take jobs from the injector?
    pub(crate) fn is_rescue(&self) -> bool {
        self.rescue.load(Relaxed)
    }

    /// May the ready tasks of any worker be taken over?
    #[inline(always)]
    pub(crate) fn any_takeover(&self) -> bool {
        self.takeovers.load(Relaxed) > 0
    }

    /// The number of the next spare worker; `None` if there are as many as the settings allow.
    pub(crate) fn next_spare(&self) -> Option<usize> {
        let config = self.config();
        let index = self.workers.all().len();
        (index - config.workers < config.spares).then_some(index)
    }

    /// What the threads of a spare worker are called. Calls a function of the user, so: under no
    /// lock.
    pub(crate) fn name_spare(&self, index: usize) -> String {
        self.config().threads.name(index, || self.usual_name(index))
    }

    /// What they are called where the user gives no name.
    pub(crate) fn usual_name(&self, index: usize) -> String {
        let config = self.config();
        format!("{}-spare{}", config.name, index - config.workers)
    }

    /// What `read` finds in the record of what the worker runs, with the record's address; `None`
    /// between tasks. For whoever is not the worker, with the injector's lock.
    ///
    /// The task may end meanwhile. If its record is in memory for records, it stays a record. If it
    /// is in the frame of another task or thread, that memory goes only after the frame's owner has
    /// been in the injector's lock (at the end of its thread, or of its [`run`](Self::end_run)),
    /// which the caller holds; but it may become anything, so what was read counts only if the
    /// worker has ended no such task, and no context, since ([`Worker::forget_frame`]). `read`
    /// reads by volatile accesses, for somebody may write there.
    fn read_running<T>(
        _frames_stay: &MutexGuard<'_, Injector>,
        w: &Peer,
        read: impl FnOnce(*const Header) -> T,
    ) -> Option<(*const Header, T)> {
        let version = w.frame_version.load(Acquire);
        let task = w.running.get().record_elsewhere();
        // Acquire: as below. What was a context then was one when we read in it.
        fence(Acquire);
        if CurrentTask::is_nobody(task) || w.frame_version.load(Relaxed) != version {
            return None;
        }
        let found = read(task);
        // Acquire: the reading comes before the second look; pairs with the Release in
        // `forget_frame`.
        fence(Acquire);
        (w.frame_version.load(Relaxed) == version).then_some((task, found))
    }

    /// What the worker runs, by name and place; `None` between tasks. For whoever is not the
    /// worker.
    pub(crate) fn name_running(&self, w: &Peer) -> Option<(Option<Arc<str>>, &'static Location<'static>)> {
        let frames_stay = self.injector.lock();
        let (task, location) = Pool::read_running(&frames_stay, w, |task| {
            // SAFETY: readable, see `read_running`.
            unsafe { Header::look_at_location(task) }
        })?;
        let name = self.name_of(task, true);
        // SAFETY: see `read_running`: the place of this task, or of the next one in the same memory
        // for records.
        Some((name, unsafe { &*location }))
    }

    /// Does this worker run a task that is no job of a guest? For whoever is not the worker.
    pub(crate) fn runs_task(&self, w: &Peer) -> bool {
        let frames_stay = self.injector.lock();
        let kind = Pool::read_running(&frames_stay, w, |task| {
            // SAFETY: readable, see `read_running`.
            unsafe { Header::look_at_kind(task) }
        });
        kind.is_some_and(|(_, kind)| !kind.has(Kind::GUEST))
    }

    /// Keeps the stacks of this pool's workers mapped: see [`frames_go`](Self::frames_go). Not for
    /// long.
    pub(crate) fn keep_frames(&self) -> FramesStay<'_> {
        FramesStay(self.injector.lock())
    }

    /// The pools of this process that a runtime uses.
    pub(crate) fn all_in_use() -> Vec<&'static Pool> {
        let pools = POOLS.iter().filter_map(|pool| {
            // SAFETY: pools live for ever.
            unsafe { pool.load(Acquire).as_ref() }
        });
        pools.filter(|pool| !pool.is_elsewhere() && !pool.runtime_pools.lock().0.is_empty()).collect()
    }

    /// The addresses of the records that its workers run: guesses.
    pub(crate) fn running_records(&self) -> impl Iterator<Item = *const Header> {
        self.all_workers().map(|w| w.running.get().record_elsewhere()).filter(|&task| !CurrentTask::is_nobody(task))
    }

    /// A task's number, if it has one.
    pub(crate) fn number_of(&self, task: *const Header) -> Option<TaskId> {
        self.ids.lock().get(&task.addr()).copied()
    }

    /// A thread's stack, or a pool of stacks, is about to go: nobody looks at records on it any
    /// more.
    pub(crate) fn frames_go(&self) {
        drop(self.injector.lock());
    }

    /// The settings.
    pub(crate) fn config(&self) -> Settings {
        Settings(ManuallyDrop::new(self.config.lock().clone()))
    }

    /// Does it say [hints](crate::sched::hints)? Waits for no lock: a task may be about to block.
    pub(crate) fn says_hints(&self) -> bool {
        self.config.try_lock().is_some_and(|config| matches!(config.unhandled, Unhandled::Report))
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
