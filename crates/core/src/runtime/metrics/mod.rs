//! What a runtime does, as numbers.
//!
//! All is read off what the engine keeps anyway, and off the counters of the workers
//! ([`sched::counters`](crate::sched::counters)): atomic words of each worker, and some short
//! locks. Nobody stands still meanwhile, so the numbers are those of some moments close to each
//! other, and a sum may be off by what has happened in between.

mod prometheus;
mod table;

use super::{Runtime, global};
use crate::record::current::CurrentTask;
use crate::record::memory;
use crate::runtime::pools::inside;
use crate::sched::calls::{BLOCKING, COMPUTE, CallCounts, ThreadPool};
use crate::sched::latency::Latency;
use crate::sched::pool::{Handle, Pool};
use crate::sched::worker::Peer;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// What a runtime does: how many tasks wait for what, what its workers do, and what they have done.
///
/// [`Runtime::metrics`](crate::Runtime::metrics), [`Handle::metrics`](crate::Handle::metrics) and
/// [`metrics`] read it. It prints as a table of 80 columns, and as
/// [text for Prometheus](Self::to_prometheus). A number that is always kept costs an instruction
/// for each event at most, so none is to be switched on; but for
/// [latencies](crate::Builder::measure_latency).
///
/// All numbers are estimates, taken one after the other while the workers go on. Those that only
/// grow (`spawned` and the like) begin when the process makes a pool; a later runtime of the same
/// kind uses the pool again, and goes on counting: compare two readings.
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(2).build()?;
/// let before = rt.metrics().sum();
/// rt.run(|| (0..100).map(|_| myriad::spawn(|| ())).for_each(|task| task.join().unwrap()));
/// let after = rt.metrics();
/// assert_eq!(after.sum().spawned - before.spawned, 100);
/// assert_eq!(after.workers_in(myriad::WorkerActivity::Stuck), 0);
/// println!("{after}");
/// println!("{} blocking calls run", after.blocking.running);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Metrics {
    /// Its pools, `default` first. None if the runtime has ended, or has not begun.
    pub pools: Vec<PoolMetrics>,
    /// The threads for [`blocking`](crate::blocking), of the whole process.
    pub blocking: CallMetrics,
    /// The threads for [`compute`](crate::compute), of the whole process.
    pub compute: CallMetrics,
    /// Records of tasks in use in the whole process: tasks that have not ended, and those that have
    /// ended and whose handle is still there. (Not the branches of [`join`](crate::join()) and the
    /// closures of `run`, whose records are in the caller's frame. While workers are busy it may be
    /// off by some hundred for each.)
    pub records: usize,
}

/// What a pool of a runtime does. Example:
/// [`Builder::measure_latency`](crate::Builder::measure_latency).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PoolMetrics {
    /// Its name: `default` for the main workers.
    pub name: Arc<str>,
    /// What its threads are called ([`Builder::name`](crate::Builder::name)).
    pub threads_name: String,
    /// Its workers, and behind them the spares that were made.
    pub workers: Vec<WorkerMetrics>,
    /// Unstarted tasks of normal priority that wait for any worker: spawned from outside, or all
    /// under another policy than work stealing.
    pub injected: usize,
    /// Interactive tasks that wait.
    pub interactive: usize,
    /// Background tasks that wait.
    pub background: usize,
    /// Unstarted tasks that only a certain worker may begin: of groups and places.
    pub pinned: usize,
    /// Tasks with a thread of their own.
    pub dedicated: usize,
    /// Threads of its workers: in threads mode with those of closures that are blocked.
    pub threads: usize,
    /// The worker that runs all woken futures at present, because several would take longer for
    /// them: messages between their processors cost more than is done with one. `None`: futures are
    /// for all workers.
    pub gathered_at: Option<usize>,
    /// How long tasks waited until they ran, if that is
    /// [measured](crate::Builder::measure_latency).
    pub latency: Option<LatencyMetrics>,
}

/// How long tasks waited, from the moment when they were queued or woken until they ran. Example:
/// [`Builder::measure_latency`](crate::Builder::measure_latency).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatencyMetrics {
    /// How many waited up to this time, and longer than the time of the bucket before.
    pub buckets: Vec<(Duration, u64)>,
    /// How many were measured. (Those beyond the last bucket are in this number alone.)
    pub count: u64,
    /// How long they waited, all together.
    pub sum: Duration,
}

impl LatencyMetrics {
    fn read(latency: &Latency) -> LatencyMetrics {
        let (buckets, longer, sum) = latency.read();
        let count = buckets.iter().map(|bucket| bucket.1).sum::<u64>() + longer;
        LatencyMetrics { buckets, count, sum }
    }

    /// A time that this part of all waits (0.99 for 99 %) did not exceed: the bound of a bucket.
    /// `None` if nothing was measured; `Duration::MAX` beyond the last bucket.
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let most = (self.count as f64 * part).ceil() as u64;
        let mut counted = 0;
        let bound = self.buckets.iter().find(|(_, count)| {
            counted += count;
            counted >= most
        });
        (self.count > 0).then(|| bound.map_or(Duration::MAX, |bucket| bucket.0))
    }
}

/// A worker. Example: [`Metrics`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Its number in the pool.
    pub index: usize,
    /// One more than was asked for, for while others are stuck.
    pub is_spare: bool,
    /// What it does.
    pub state: WorkerActivity,
    /// Its tasks.
    pub counts: WorkerCounts,
}

/// What a worker does. Example: [`Metrics`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WorkerActivity {
    /// It runs a task.
    Busy,
    /// It has nothing to do, and looks for work.
    Searching,
    /// It sleeps until there is work; or it is a spare that nobody needs.
    Parked,
    /// It has been in one task for 10 ms at least (a recursion through `join`: for 1 s).
    Stuck,
}

/// Numbers of a worker, or the sum of several. Example: [`Metrics`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerCounts {
    /// Unstarted tasks and woken futures in its queue, at most: places of tasks that a join has
    /// taken out count until the worker comes by.
    pub queued: usize,
    /// Blocked closures that are woken, and go on at one of the next turns. Those that other
    /// threads have woken count from the worker's next look on.
    pub ready: usize,
    /// Closures that are blocked. (Of one worker in threads mode, where closures move between
    /// workers, this may be off; the sum is right.)
    pub blocked: usize,
    /// Stacks: fibers, or threads.
    pub stacks: usize,
    /// Stacks of these that are empty, and kept for the next closures.
    pub idle_stacks: usize,
    /// Pending timers: sleeps, time limits.
    pub timers: usize,
    /// Tasks that tasks have spawned here, but for the branches of [`join`](crate::join()), and
    /// those that go to another pool, worker or priority.
    pub spawned: u64,
    /// How often a closure was begun, or a future polled, by the worker's loop. A task that its
    /// joiner runs in place is in `spawned`, and not here.
    pub begun: u64,
    /// How often a blocked closure went on. (In threads mode one that another worker has taken over
    /// counts twice.)
    pub resumed: u64,
    /// Tasks that were taken from other workers.
    pub stolen: u64,
    /// How often the worker has fallen asleep.
    pub sleeps: u64,
}

/// Threads that make calls outside of the workers. Example: [`Metrics`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallMetrics {
    /// Calls that run.
    pub running: usize,
    /// Threads that wait for a call.
    pub idle: usize,
    /// Calls that wait for a thread.
    pub queued: usize,
}

impl AddAssign for WorkerCounts {
    fn add_assign(&mut self, other: WorkerCounts) {
        let WorkerCounts {
            queued,
            ready,
            blocked,
            stacks,
            idle_stacks,
            timers,
            spawned,
            begun,
            resumed,
            stolen,
            sleeps,
        } = other;
        self.queued += queued;
        self.ready += ready;
        self.blocked += blocked;
        self.stacks += stacks;
        self.idle_stacks += idle_stacks;
        self.timers += timers;
        self.spawned += spawned;
        self.begun += begun;
        self.resumed += resumed;
        self.stolen += stolen;
        self.sleeps += sleeps;
    }
}

impl PoolMetrics {
    fn read(name: Arc<str>, pool: &'static Pool) -> PoolMetrics {
        let regular = pool.regular_workers().len();
        let is_alive = |w: &&Peer| !w.shared.remote.dead.load(Relaxed);
        let workers: Vec<_> =
            pool.all_workers().filter(is_alive).map(|w| WorkerMetrics::read(w, w.shared.index >= regular)).collect();
        let [injected, interactive, background] = pool.workers.count_injected();
        PoolMetrics {
            name,
            threads_name: pool.config().name.clone(),
            workers,
            injected,
            interactive,
            background,
            pinned: pool.regular_workers().iter().map(|w| w.shared.remote.pinned.load(Relaxed)).sum(),
            dedicated: pool.dedicated.count(),
            threads: pool.count_threads(),
            gathered_at: pool.gather.worker(),
            latency: pool.latency.as_ref().map(LatencyMetrics::read),
        }
    }

    /// How many of its spares are on duty.
    pub fn spares(&self) -> usize {
        self.workers.iter().filter(|w| w.is_spare && w.state != WorkerActivity::Parked).count()
    }

    /// The sum over all its workers.
    pub fn sum(&self) -> WorkerCounts {
        let mut sum = WorkerCounts::default();
        self.workers.iter().for_each(|w| sum += w.counts);
        sum
    }
}

impl WorkerMetrics {
    fn read(w: &'static Peer, is_spare: bool) -> WorkerMetrics {
        let sleeping = w.shared.remote.sleeping.word.load(Relaxed);
        let state = match () {
            () if sleeping != 0 => WorkerActivity::Parked,
            () if w.shared.remote.stuck.load(Relaxed) => WorkerActivity::Stuck,
            () if w.running.get() == CurrentTask::NOTHING => WorkerActivity::Searching,
            () => WorkerActivity::Busy,
        };
        let (stacks, idle_stacks) = (usize::try_from(w.counted_stacks()).unwrap_or(0), w.idle_stacks());
        let (ready, resumed) = w.ready();
        let counters = &w.counters;
        let counts = WorkerCounts {
            queued: w.shared.deque.len(),
            ready,
            // One stack runs the worker's loop, or a task.
            blocked: stacks.saturating_sub(idle_stacks + ready + 1),
            stacks,
            idle_stacks,
            timers: w.timers.pending(),
            spawned: counters.spawned.get(),
            begun: counters.begun.get(),
            resumed,
            stolen: counters.stolen.get(),
            sleeps: counters.sleeps.get(),
        };
        WorkerMetrics { index: w.shared.index, is_spare, state, counts }
    }
}

impl CallMetrics {
    fn read(threads: &ThreadPool) -> CallMetrics {
        let CallCounts { threads, idle, queued, .. } = threads.count();
        CallMetrics { running: threads - idle, idle, queued }
    }
}

impl Metrics {
    fn read(pools: impl Iterator<Item = (Arc<str>, &'static Pool)>) -> Metrics {
        let (made, free) = memory::count();
        Metrics {
            pools: pools.map(|(name, pool)| PoolMetrics::read(name, pool)).collect(),
            blocking: CallMetrics::read(&BLOCKING),
            compute: CallMetrics::read(&COMPUTE),
            records: made.saturating_sub(free + Pool::count_free_records()),
        }
    }

    fn of_runtime(pool: &'static Pool) -> Metrics {
        if pool.is_elsewhere() {
            // (Nobody gives the parent's locks back.)
            return Metrics::read(std::iter::empty());
        }
        let pools = pool.runtime_pools();
        Metrics::read(pools.0.iter().map(|(name, handle)| (name.clone(), handle.inner())))
    }

    /// The workers of all pools, with the spares.
    pub fn workers(&self) -> impl Iterator<Item = &WorkerMetrics> {
        self.pools.iter().flat_map(|pool| &pool.workers)
    }

    /// How many workers do this. The spares count, too.
    pub fn workers_in(&self, state: WorkerActivity) -> usize {
        self.workers().filter(|w| w.state == state).count()
    }

    /// How many spares are on duty: workers beside those that were asked for.
    pub fn spares(&self) -> usize {
        self.pools.iter().map(PoolMetrics::spares).sum()
    }

    /// The sum over all workers.
    pub fn sum(&self) -> WorkerCounts {
        let mut sum = WorkerCounts::default();
        self.pools.iter().for_each(|pool| sum += pool.sum());
        sum
    }
}

impl Runtime {
    /// What it does, as numbers: of all its pools.
    ///
    /// # Blocking
    /// Waits for no task and no worker, and holds none up: each count is read without a lock of the
    /// scheduler. It takes some microseconds (with few workers 2 or less), and may be called from
    /// anywhere, also while workers are stuck. In the child of a `fork` there are no pools.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).pool("interactive", 1).build()?;
    /// let metrics = rt.metrics();
    /// assert_eq!((metrics.pools.len(), metrics.workers().count()), (2, 3));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        Metrics::of_runtime(self.pool)
    }
}

impl Handle {
    /// What the pool that it spawns into does, as numbers. No pool is there if the runtime has
    /// ended.
    ///
    /// # Blocking
    /// As [`Runtime::metrics`](crate::Runtime::metrics).
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).pool("interactive", 1).build()?;
    /// let handle = rt.handle().pool("interactive").unwrap();
    /// assert_eq!(handle.metrics().workers().count(), 1);
    /// drop(rt);
    /// assert!(handle.metrics().pools.is_empty());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        if self.inner().is_elsewhere() {
            return Metrics::read(std::iter::empty());
        }
        let pools = self.inner().runtime_pools();
        let found = pools.index_of(*self).map(|i| (pools.0[i].0.clone(), self.inner()));
        Metrics::read(found.into_iter())
    }
}

/// What the runtime of the calling task does, as numbers; elsewhere that of the global runtime.
/// No pools are there if the global runtime does not run: this does not start it.
///
/// # Blocking
/// As [`Runtime::metrics`](crate::Runtime::metrics).
///
/// # Examples
/// ```
/// assert!(myriad::metrics().pools.is_empty());
/// let metrics = myriad::run(|| myriad::metrics());
/// assert!(metrics.workers().count() > 0);
/// ```
pub fn metrics() -> Metrics {
    let pool = inside().filter(|handle| handle.is_of_now()).map(Handle::inner);
    let pool = pool.or_else(|| global::is_running().then(global::own_pool));
    pool.map_or_else(|| Metrics::read(std::iter::empty()), Metrics::of_runtime)
}
