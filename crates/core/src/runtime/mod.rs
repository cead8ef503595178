//! Runtimes: building, running, shutting down.
pub(crate) mod builder;
pub(crate) mod deadlock;
pub(crate) mod dump;
pub(crate) mod global;
pub(crate) mod grace;
pub(crate) mod left;
pub(crate) mod metrics;
pub(crate) mod pools;
mod report;
pub(crate) mod shutdown;

pub(crate) use crate::sched::pool::Handle;
pub use builder::Builder;
pub use metrics::{
    CallMetrics, LatencyMetrics, Metrics, PoolMetrics, WorkerActivity, WorkerCounts, WorkerMetrics, metrics,
};
pub use pools::NoPool;
pub use report::{Report, State, Unfinished};

use crate::queue::policy::Policy;
use crate::sched::pool::Pool;
use crate::sched::unhandled::Unhandled;
use myriad_base::sys::clock::Instant;
use myriad_base::sys::passing::passing;
use myriad_base::sys::say::say;
use std::time::Duration;
use std::{fmt, io};

/// A running set of workers. Several may exist at a time.
///
/// # After `fork`
/// A forked child has none of its parent's workers. Whoever asks a runtime of the parent there (to
/// spawn, to `run`, to join a task of it, by the global runtime's functions too) is told by a
/// panic; to drop it does nothing. All that needs no worker works: channels, locks, times, calls of
/// `blocking`, gangs, and a runtime that is built in the child. If a *task* forks, the child's
/// thread is no worker any more: all this holds for it too (it has no task-locals, and nobody
/// cancels it); what it borrows from other threads' stacks, by `run` or `scope`, is there only
/// until the child starts a thread, which may get such a stack; and if it comes to the end of the
/// task, the child aborts with a message: it is to call `exec` or `_exit` before. Other waits for
/// what the parent's tasks were to do (a message, a future, `block_on` of a handle) last for ever,
/// as with threads.
///
/// Dropping it shuts it down without patience: see [`shutdown`](Runtime::shutdown) with a deadline
/// of zero. Values of a dataflow that are being written to files are waited for. If tasks had not
/// ended, a line on the standard error says how many, and names the first ones: where
/// [`Unhandled`](crate::Unhandled) is `Report`. Who expects that calls `shutdown`, which returns
/// it.
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(2).build()?;
/// let sum = rt.run(|| {
///     let (a, b) = myriad::join(|| 1, || 2);
///     a + b
/// });
/// assert_eq!(sum, 3);
/// assert!(rt.shutdown(std::time::Duration::from_secs(1)).is_clean());
/// # std::io::Result::Ok(())
/// ```
#[doc(alias = "Executor")]
#[doc(alias = "ThreadPool")]
pub struct Runtime {
    pub(crate) pool: &'static Pool,
    /// Shut down already.
    down: bool,
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pool.show("Runtime", f)
    }
}

impl Runtime {
    pub(crate) fn of(pool: &'static Pool) -> Runtime {
        Runtime { pool, down: false }
    }

    /// A runtime with as many workers as there are processors, in threads mode.
    ///
    /// # Errors
    /// If its threads cannot be started: see [`Builder::build`].
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Runtime::new()?;
    /// assert_eq!(rt.run(|| 6 * 7), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn new() -> io::Result<Runtime> {
        Builder::new().build()
    }

    /// Settings for a runtime; as [`Builder::new`].
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// A handle that spawns into this runtime.
    pub fn handle(&self) -> Handle {
        Handle::of(self.pool)
    }

    /// How many workers it has, in all its pools. ([`Handle::workers`]: in one.)
    pub fn workers(&self) -> usize {
        self.pool.runtime_pools().pools().iter().map(|pool| pool.regular_workers().len()).sum()
    }

    /// Which task its workers start next.
    pub fn policy(&self) -> Policy {
        self.pool.config().policy
    }

    /// Does it block with fibers (true) or with threads?
    pub fn is_fiber_mode(&self) -> bool {
        self.pool.config().fibers
    }

    /// Moves the clock of a runtime with a [manual clock](Builder::manual_clock): sleepers whose
    /// time has come go on. Example: [`Builder::manual_clock`].
    ///
    /// # Panics
    /// If its clock is the real one.
    #[doc(alias = "pause")]
    #[track_caller]
    pub fn advance(&self, by: Duration) {
        assert!(
            self.pool.clock.is_manual(),
            "only a runtime built with `manual_clock()` can be advanced: this one's time is real"
        );
        let pools = self.pool.runtime_pools().pools();
        pools.iter().for_each(|pool| pool.clock.advance(by));
        pools.iter().for_each(|pool| pool.clock_moved());
    }

    /// What this runtime's tasks see as the time.
    pub fn now(&self) -> Instant {
        self.pool.now()
    }

    /// Ends the runtime: waits until all its tasks have ended, at most for `patience`, then stops
    /// the workers.
    ///
    /// What has not been started then is dropped, and so are waiting futures; their joiners get an
    /// error. Closures that are still blocked, or still running, cannot be ended from outside:
    /// their stacks stay as they are, and the report names them. Who joins one that is blocked gets
    /// an error ([`JoinError::is_shutdown`](crate::JoinError); if a worker is still in a task: when
    /// the last one has come back). The workers' threads are joined, with their thread-locals, but
    /// for those that hold blocked closures.
    ///
    /// # Blocking
    /// At most for about `patience`, and a moment more for workers that are in the middle of a
    /// task; and for as long as a file of a dataflow's budget is being written or read.
    ///
    /// # Aborts
    /// If a task that is left blocked borrows from a frame of somebody who goes on: of a thread, or
    /// a task of another runtime, that is in [`run`](Self::run), or owns a
    /// [`scope`](crate::scope()) with tasks here. They could only wait for ever.
    ///
    /// # Panics
    /// In one of its own tasks, which it would wait for.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let rt = myriad::Builder::new().workers(1).build().unwrap();
    /// rt.spawn(|| ());
    /// let report = rt.shutdown(Duration::from_secs(1));
    /// assert!(report.is_clean(), "{report}");
    /// ```
    #[doc(alias = "shutdown_timeout")]
    #[track_caller]
    pub fn shutdown(mut self, patience: Duration) -> Report {
        assert!(
            !self.is_inside(),
            "a runtime cannot be shut down by one of its own tasks: it would wait for that task"
        );
        self.down = true;
        shutdown::shutdown(self.pool, patience)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.down {
            return;
        }
        let pool = self.pool;
        if self.is_inside() {
            // The task that drops it must end first.
            let ends = std::thread::Builder::new().spawn(passing(move || end_dropped(pool)));
            if ends.is_err() {
                // No thread can be had. Then the task does it: its worker counts as one that has
                // not come back from a task in time, so the last worker that does comes behind and
                // cleans up.
                end_dropped(pool);
            }
        } else {
            end_dropped(pool);
        }
    }
}

/// Ends a runtime that nobody has shut down, and says what it leaves.
fn end_dropped(pool: &'static Pool) {
    // First: the settings go with the runtime.
    let says = matches!(pool.config().unhandled, Unhandled::Report);
    let name = pool.config().name.clone();
    let report = shutdown::shutdown(pool, Duration::ZERO);
    if says && !report.is_clean() {
        say!("myriad: {}", report.of_dropped(&name));
    }
}

impl Handle {
    /// The runtime of the calling task, and in it the task's pool; `None` on a foreign thread.
    pub fn current() -> Option<Handle> {
        pools::inside()
    }
}
