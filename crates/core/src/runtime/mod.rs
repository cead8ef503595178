//! Runtimes: building, running, shutting down.
mod builder;
#[cfg(not(loom))]
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod doze;
#[cfg(loom)]
pub mod doze;
pub(crate) mod fork;
pub(crate) mod global;
mod grace;
#[cfg(not(loom))]
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod hub;
#[cfg(loom)]
pub mod hub;
mod left;
pub(crate) mod monitor;
pub(crate) mod pools;
mod relief;
mod report;
mod shutdown;
mod stuck;

pub(crate) use builder::processors;
pub use builder::{Builder, Unhandled};
pub use global::run;
pub use pools::{NoPool, spawn_async_on, spawn_on};
pub use report::{Report, State, Unfinished};
pub use stuck::{OnStuck, Stuck};

use crate::sched::policy::Policy;
use crate::sched::worker::{self, Worker};
use crate::sys::atomic::Ordering::Relaxed;
use crate::sys::clock::Instant;
use crate::task::JoinWait;
use crate::task::header::{Header, Mode};
use crate::task::{JoinHandle, StackTask, spawn};
use crate::unwind::{self, AbortOnUnwind};
use crate::user_code;
use hub::Hub;
use std::panic::Location;
use std::ptr::null_mut;
use std::time::Duration;

/// A running set of workers. Several may exist at a time.
///
/// # After `fork`
/// A forked child has none of its parent's workers. Whoever asks a runtime of the parent there (to spawn, to `run`, to join a task of
/// it, by the global runtime's functions too) is told by a panic; to drop it does nothing. All that needs no worker works: channels, locks,
/// times, calls of `blocking`, gangs, and a runtime that is built in the child. If a *task* forks, it goes on as a task in the child, with its
/// one worker. Other waits for what the parent's tasks were to do (a message, a future, `block_on` of a handle) last for ever, as
/// with threads.
///
/// Dropping it shuts it down without patience: see [`shutdown`](Runtime::shutdown) with a deadline of zero.
#[derive(Debug)]
pub struct Runtime {
    hub: &'static Hub,
    /// Shut down already.
    down: bool,
}

/// A way to spawn into a runtime, or one pool of it, from anywhere; a copy of a reference.
///
/// A runtime's handle spawns into the pool `default`; [`Handle::pool`] gives that of another.
///
/// It may outlive its runtime. What is spawned then is dropped, and its handle says so
/// ([`JoinError::is_shutdown`](crate::JoinError)); it never reaches another runtime, however alike the two are.
//
// Hubs are used again by later runtimes, so a handle says of which of them it is. That is compared where a task is queued from
// elsewhere, under the lock that is taken there anyway; what a worker spawns for itself does not come by.
#[derive(Debug, Clone, Copy)]
pub struct Handle {
    hub: &'static Hub,
    term: u64,
}

impl Runtime {
    pub(crate) fn of(hub: &'static Hub) -> Runtime {
        Runtime { hub, down: false }
    }

    /// A handle that spawns into this runtime.
    pub fn handle(&self) -> Handle {
        Handle::of(self.hub)
    }

    /// Runs `f` as a task of this runtime and returns its result.
    ///
    /// `f` may borrow from the caller. Called in a task of this very runtime, of whichever pool, it simply calls `f`.
    ///
    /// # Blocking
    /// Until `f` has ended (not the tasks that it spawned): a foreign thread sleeps, a task of another runtime is set
    /// aside.
    ///
    /// # Aborts
    /// If the runtime ends while `f` is blocked in it: see [`shutdown`](Self::shutdown).
    ///
    /// # Panics
    /// If `f` panics, that panic goes on. If the runtime has been shut down.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad_core::Builder::new().workers(2).build().unwrap();
    /// let word = String::from("borrowed");
    /// assert_eq!(rt.run(|| word.len()), 8);
    /// ```
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        if self.is_inside() {
            return f();
        }
        run_on(self.handle(), Location::caller(), f)
    }

    /// Is the caller one of its tasks?
    fn is_inside(&self) -> bool {
        pools::inside().is_some_and(|mine| mine.is_of_now() && mine.hub.is_of_same_runtime(self.hub))
    }

    /// Starts a task; as [`spawn`](fn@crate::spawn), but in this runtime.
    ///
    /// # Errors
    /// After a shutdown the task is dropped, and its handle says so ([`JoinError::is_shutdown`](crate::JoinError)).
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.handle().spawn(f)
    }

    /// Starts a task that drives a future; as [`spawn_async`](fn@crate::spawn_async), but in this runtime.
    ///
    /// # Errors
    /// As for [`Runtime::spawn`].
    ///
    /// # Examples
    /// ```
    /// let rt = myriad_core::Builder::new().workers(1).build()?;
    /// assert_eq!(rt.spawn_async(async { 6 * 7 }).join().unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn spawn_async<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle().spawn_async(future)
    }

    /// How many workers it has, in all its pools. ([`Handle::workers`]: in one.)
    pub fn workers(&self) -> usize {
        self.hub.family().hubs().iter().map(|hub| hub.workers().len()).sum()
    }

    /// Which task its workers start next.
    pub fn policy(&self) -> Policy {
        self.hub.config().policy
    }

    /// Does it block with fibers (true) or with threads?
    pub fn is_fiber_mode(&self) -> bool {
        self.hub.config().fibers
    }

    /// Moves the clock of a runtime with a [manual clock](Builder::manual_clock): sleepers whose time has come go on.
    ///
    /// # Panics
    /// If its clock is the real one.
    pub fn advance(&self, by: Duration) {
        assert!(
            self.hub.is_manual(),
            "only a runtime built with `manual_clock()` can be advanced: this one's time is real"
        );
        let pools = self.hub.family().hubs();
        pools.iter().for_each(|hub| hub.move_clock(by));
        pools.iter().for_each(|hub| hub.clock_moved());
    }

    /// What this runtime's tasks see as the time.
    pub fn now(&self) -> Instant {
        self.hub.now()
    }

    /// Ends the runtime: waits until all its tasks have ended, at most for `patience`, then stops the workers.
    ///
    /// What has not been started then is dropped, and so are waiting futures; their joiners get an error. Closures that
    /// are still blocked, or still running, cannot be ended from outside: their stacks stay as they are, and the report
    /// names them. Who joins one that is blocked gets an error ([`JoinError::is_shutdown`](crate::JoinError); if a worker is
    /// still in a task: when the last one has come back). The workers' threads are joined, with their thread-locals, but for those that hold blocked closures.
    ///
    /// # Blocking
    /// At most for about `patience`, and a moment more for workers that are in the middle of a task.
    ///
    /// # Aborts
    /// If a task that is left blocked borrows from a frame of somebody who goes on: of a thread, or a task of another runtime, that
    /// is in [`run`](Self::run), or owns a [`scope`](crate::scope()) with tasks here. They could only wait for ever.
    ///
    /// # Panics
    /// In one of its own tasks, which it would wait for.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let rt = myriad_core::Builder::new().workers(1).build().unwrap();
    /// rt.spawn(|| ());
    /// let report = rt.shutdown(Duration::from_secs(1));
    /// assert!(report.is_clean(), "{report}");
    /// ```
    pub fn shutdown(mut self, patience: Duration) -> Report {
        assert!(
            !self.is_inside(),
            "a runtime cannot be shut down by one of its own tasks: it would wait for that task"
        );
        self.down = true;
        shutdown::shutdown(self.hub, patience)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if self.down {
            return;
        }
        let hub = self.hub;
        if self.is_inside() {
            // The task that drops it must end first.
            _ = std::thread::Builder::new().spawn(move || drop(shutdown::shutdown(hub, Duration::ZERO)));
        } else {
            drop(shutdown::shutdown(hub, Duration::ZERO));
        }
    }
}

impl Handle {
    /// Of the runtime that uses this hub now, as the caller knows.
    #[inline]
    pub(crate) fn of(hub: &'static Hub) -> Handle {
        Handle { hub, term: hub.term() }
    }

    /// Which of the runtimes is meant that have used the hub.
    pub(crate) fn term(self) -> u64 {
        self.term
    }

    /// Has no other runtime the hub by now? (For a caller who wants to be certain, under the injector's lock.)
    pub(crate) fn is_of_now(self) -> bool {
        self.term == self.hub.term()
    }

    /// Do both mean the same pool of the same runtime?
    pub(crate) fn is(self, other: Handle) -> bool {
        std::ptr::eq(self.hub, other.hub) && self.term == other.term
    }

    /// Is this one of the pool's workers? (A worker works for the runtime that uses its hub now.)
    #[inline]
    pub(crate) fn has(self, w: &Worker) -> bool {
        std::ptr::eq(w.hub, self.hub) && self.is_of_now()
    }

    /// The pool that it spawns into.
    pub(crate) fn hub(self) -> &'static Hub {
        self.hub
    }

    /// As [`Runtime::spawn`].
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        spawn::spawn_on(*self, f, Location::caller())
    }

    /// As [`Runtime::spawn_async`].
    #[track_caller]
    pub fn spawn_async<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        crate::task::spawn_async_on(*self, future, Location::caller())
    }

    /// As [`Runtime::run`], but in this very pool: a task of another pool of the same runtime waits meanwhile.
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        run_on(*self, Location::caller(), f)
    }

    /// The runtime of the calling task, and in it the task's pool; `None` on a foreign thread.
    pub fn current() -> Option<Handle> {
        pools::inside()
    }
}

/// Runs `f` in this pool, and waits on whatever thread.
pub(crate) fn run_on<F, T>(home: Handle, place: &'static Location<'static>, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let w = worker::current();
    if w.as_ref().is_some_and(|w| home.has(w)) {
        return f();
    }
    let hub = home.hub;
    hub.expect_here();
    let task = StackTask::new(f);
    task.begin_elsewhere(spawn::stack_flags(hub.number), place);
    let record: *mut Header = task.record();
    let wait = JoinWait::new(w.as_deref(), record);
    if let Some(Err(error)) = w.as_ref().map(|w| w.ensure_stack()) {
        panic!("{error}");
    }
    // SAFETY: the frame stands until the task is done: it waits for that below, whatever happens. The node is left
    // before the task can end, so its end wakes the node, once.
    unsafe {
        assert!((*record).wait(wait.node().cast_mut().cast()), "nobody else has the record yet");
        hub.begin_run(record);
        if !home.try_inject(None, record) {
            // Nobody else knows the record, and nobody waits: what is dropped here is the caller's, and may wait.
            hub.end_run(record);
            (*record).waiter.store(null_mut(), Relaxed);
            if let Err(payload) = user_code::call(|| _ = ((*record).run)(record, Mode::DropUnstarted)) {
                unwind::discard(payload);
            }
            panic!("{ENDED}");
        }
        let stays = AbortOnUnwind::new(
            "a `run` was left by a panic while the task runs that is in its frame (a bug in Myriad)",
        );
        _ = wait.block(w);
        stays.disarm();
        hub.end_run(record);
        match task.take_result() {
            Ok(value) => value,
            Err(Some(payload)) => unwind::resume(payload),
            Err(None) => panic!("{ENDED}"),
        }
    }
}

const ENDED: &str = "the runtime has been shut down: it cannot run anything any more";
