//! The interface for a scheduler that the program writes.
//!
//! Two methods: a task that can run comes, a worker asks for the next one. All that a scheduler
//! does not decide stays with the engine: sleeping and waking, claims by joiners, spares, shutdown.
//!
//! **The tasks are not the scheduler's.** They stand in the pool's [`Table`](super::table::Table),
//! and a [`ReadyTask`](super::ready_task::ReadyTask) is a *ticket* for one. So a joiner claims its
//! task without asking the scheduler, a shutdown finds all tasks, and what a scheduler loses, or
//! hands out twice, is no task. A ticket whose task was taken otherwise is *stale*: the engine
//! passes over it.
//!
//! **Rejected.** Boost.Fiber's five methods: `has_ready_fibers` is a count that the table has,
//! `suspend_until` and `notify` are the engine's sleep, a property change is an arrival.
//! *The task itself instead of a ticket:* a scheduler would have to find one out of the middle of
//! its queue for each claim, and one that forgot a task would have lost it. *`&mut self`:* a lock
//! of the engine around code of users. *Calls where a task is spawned or woken:* that is in the
//! middle of wakes and under the injector's lock, where user code may not wait; so what comes is
//! handed over when a worker asks.

use super::ready_task::ReadyTask;
use crate::queue::policy::Arrival;
use myriad_base::sys::thread::{Distance, Topology};
use std::fmt;
use std::sync::Arc;

/// Decides which of the tasks that can run a worker runs next.
///
/// Each pool of a runtime has a scheduler of its own, made by the function that
/// [`Builder::scheduler`](crate::Builder::scheduler) is given. A scheduler decides about closures
/// that have not begun, and about futures that have not begun or were woken. A closure that has
/// waited has a stack, which stays with its worker: that worker goes on with it, in the order of
/// wakes, before it asks for anything new.
///
/// # When the methods are called
/// By a worker that has nothing ready, in its loop, in a task that is made for the call. First
/// [`enqueue`](Self::enqueue) for all that has come since, then [`pick_next`](Self::pick_next).
/// Several workers may call at a time. The engine holds no lock meanwhile.
///
/// A task that is joined before it was picked may be run by its joiner out of turn; then its
/// [`ReadyTask`] is *stale*, and means nothing when it is picked. In fork-join code on one worker
/// nearly all tasks are claimed so before they come to the scheduler at all.
///
/// # What the methods may do
/// Whatever a task may do.
///
/// - *Allocate, spawn, wake:* what is spawned comes to the scheduler with the next call.
/// - *Wait:* the call is set aside, and its worker goes on. As long as it waits, that worker does
///   not call the scheduler, but runs the tasks of the pool in the order of their arrival; so a
///   scheduler may even wait for tasks that it has itself. Other workers call it as before. A lock
///   that is held over a wait keeps them out: a lock of [`sync`](crate) makes them wait as tasks, a
///   lock of std holds up their threads.
/// - *Panic:* the panic is reported, as
///   [`Builder::on_unhandled_panic`](crate::Builder::on_unhandled_panic) says, and the worker runs
///   the oldest task of the pool instead. No task is lost. (A lock of std that was held is
///   poisoned.)
/// - *Drop a [`ReadyTask`]:* its task is run all the same, in the order of such drops, before the
///   scheduler is asked again.
/// - *Keep tasks back:* a `None` of `pick_next`. See there.
///
/// # Shutdown
/// Tasks that a scheduler keeps back hold a [`shutdown`](crate::Runtime::shutdown) up until its
/// patience is over. Then they are dropped as any other, whatever the scheduler says; their joiners
/// get an error, and the report names them as not started. The scheduler itself is dropped at the
/// end of the runtime; a panic of its destructor goes no further.
///
/// # Examples
/// The newest task first, on all workers:
/// ```
/// use myriad::scheduler::{Cause, ReadyTask, Scheduler, Turn};
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct NewestFirst(Mutex<Vec<ReadyTask>>);
///
/// impl Scheduler for NewestFirst {
///     fn enqueue(&self, task: ReadyTask, _: Cause) {
///         self.0.lock().unwrap().push(task);
///     }
///     fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
///         self.0.lock().unwrap().pop()
///     }
/// }
///
/// let rt = myriad::Builder::new().workers(1).spare_workers(0).scheduler(|_| NewestFirst::default()).build()?;
/// let (order, ended) = std::sync::mpsc::channel();
/// rt.run(move || {
///     (0..3).for_each(|i| {
///         let order = order.clone();
///         myriad::spawn(move || order.send(i));
///     });
/// });
/// assert_eq!(ended.iter().collect::<Vec<_>>(), [2, 1, 0]);
/// # std::io::Result::Ok(())
/// ```
pub trait Scheduler: Send + Sync + 'static {
    /// A task can run from now on: the scheduler keeps it, until it gives it to a worker.
    ///
    /// Called in the order of arrival by each worker; where several workers call at a time, nobody
    /// says whose call comes first.
    fn enqueue(&self, task: ReadyTask, cause: Cause);

    /// The task that this worker is to run next. `None`: none for this worker now.
    ///
    /// A worker that gets `None` while there are tasks is asked again when it has run something
    /// else, when a task comes or changes its property, or after
    /// [`Handle::notify_scheduler`](crate::Handle::notify_scheduler). Meanwhile it may sleep; then
    /// the other workers that sleep are asked, one after the other.
    fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask>;
}

/// Why a task comes to its [`Scheduler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// It was spawned.
    Spawned,
    /// A future that was woken.
    Woken,
    /// A future that has woken itself, as `yield_now` does: it lets others go first.
    Yielded,
    /// A task that runs goes on in this one, and waits for it: better before others.
    Continues,
    /// Its property was changed while it was queued. The [`ReadyTask`] that it had until now is
    /// stale.
    Changed,
}

impl Cause {
    pub(super) fn of(arrival: Arrival) -> Cause {
        match arrival {
            Arrival::Spawned(_) | Arrival::Outside => Cause::Spawned,
            Arrival::Woken => Cause::Woken,
            Arrival::Last => Cause::Yielded,
            Arrival::Next => Cause::Continues,
        }
    }
}

/// A worker asks for its next task: what [`Scheduler::pick_next`] is given.
#[derive(Debug)]
pub struct Turn<'a> {
    pub(crate) worker: usize,
    pub(crate) pool: &'a PoolInfo,
}

impl Turn<'_> {
    /// The number of the worker that asks. The workers of a pool have the numbers from 0 on,
    /// [spares](crate::Builder::spare_workers) those from [`PoolInfo::workers`] on.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// The pool that the worker belongs to.
    pub fn pool(&self) -> &PoolInfo {
        self.pool
    }
}

/// What a [`Scheduler`] may want to know of its pool.
#[derive(Debug, Clone)]
pub struct PoolInfo {
    pub(crate) name: Arc<str>,
    pub(crate) workers: usize,
    /// `None`: nobody knows where they run.
    pub(crate) places: Option<Arc<Places>>,
}

/// The processors of the workers, by their numbers, and how far these are from each other.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) cpus: Vec<usize>,
    pub(crate) topology: Topology,
}

impl PoolInfo {
    /// The name of the pool: `default` for the main workers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many workers it has, without spares.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// How far the processors of two workers are from each other. `None`: nobody knows, for these
    /// workers are not [pinned](crate::Builder::pin_workers), or are spares.
    ///
    /// # Examples
    /// ```
    /// use myriad::scheduler::{Distance, PoolInfo, Topology};
    /// # use myriad::scheduler::{Cause, ReadyTask, Scheduler, Turn};
    /// # struct Fifo(std::sync::Mutex<std::collections::VecDeque<ReadyTask>>);
    /// # impl Scheduler for Fifo {
    /// #     fn enqueue(&self, task: ReadyTask, _: Cause) { self.0.lock().unwrap().push_back(task) }
    /// #     fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> { self.0.lock().unwrap().pop_front() }
    /// # }
    /// let make = |pool: &PoolInfo| {
    ///     assert_eq!(pool.distance(0, 1), Some(Distance::SameCore));
    ///     assert_eq!(pool.distance(0, 2), Some(Distance::Remote));
    ///     Fifo(Default::default())
    /// };
    /// // Two memory nodes of a core with two hardware threads.
    /// let rt = myriad::Builder::new().workers(4).topology(Topology::regular(2, 1, 1, 2)).scheduler(make).build()?;
    /// assert_eq!(rt.run(|| 6 * 7), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn distance(&self, a: usize, b: usize) -> Option<Distance> {
        let Places { cpus, topology } = &**self.places.as_ref()?;
        Some(topology.distance(*cpus.get(a)?, *cpus.get(b)?))
    }
}

/// Makes the scheduler of a pool.
pub(crate) type MakeScheduler = Arc<dyn Fn(&PoolInfo) -> Arc<dyn Scheduler> + Send + Sync>;

/// A scheduler and what it was told of its pool.
pub(crate) struct Hosted {
    pub(crate) scheduler: Arc<dyn Scheduler>,
    pub(crate) pool: PoolInfo,
}

impl fmt::Debug for Hosted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosted").field("pool", &self.pool).finish_non_exhaustive()
    }
}
