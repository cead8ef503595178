//! Runs and spawns in a runtime: [`run`], [`spawn_on`], and what a [`Runtime`] and a [`Handle`]
//! offer of that.

use super::{JoinHandle, JoinWait, StackTask, TaskClosure, block_on, spawn, spawn_async_on as start_future};
use crate::record::create::{InFrame, KindWord};
use crate::record::task::TaskRef;
use crate::runtime::Runtime;
use crate::runtime::global::home;
use crate::runtime::pools::{here, inside};
use crate::sched::cancel::deadlocked;
use crate::sched::pool::Handle;
use crate::sched::unwind::{self, AbortOnUnwind};
use crate::sched::worker::{self, Role};
use crate::sched::{borrower, user_code};
use std::panic::Location;

impl Runtime {
    /// Runs `f` as a task of this runtime and returns its result.
    ///
    /// `f` may borrow from the caller. Called in a task of this very runtime, of whichever pool, it
    /// simply calls `f`.
    ///
    /// # Blocking
    /// Until `f` has ended (not the tasks that it spawned): a foreign thread sleeps, a task of
    /// another runtime is set aside.
    ///
    /// # Aborts
    /// If the runtime ends while `f` is blocked in it: see [`shutdown`](Self::shutdown).
    ///
    /// # Panics
    /// If `f` panics, that panic goes on. If the runtime has been shut down.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).build().unwrap();
    /// let word = String::from("borrowed");
    /// assert_eq!(rt.run(|| word.len()), 8);
    /// ```
    #[doc(alias = "install")]
    #[doc(alias = "enter")]
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        if self.is_inside() {
            return f();
        }
        run_on(self.handle(), Location::caller(), false, f)
    }

    /// Runs a future in this runtime, and waits for its result.
    ///
    /// The future may borrow from the caller.
    ///
    /// # Blocking
    /// As [`run`](Self::run), until the future is ready.
    ///
    /// # Panics
    /// If the future does, that panic goes on. If the runtime has been shut down.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Runtime::new()?;
    /// let word = String::from("borrowed");
    /// assert_eq!(rt.block_on(async { word.len() }), 8);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.run(|| block_on(future))
    }

    /// Is the caller one of its tasks?
    pub(crate) fn is_inside(&self) -> bool {
        inside().is_some_and(|mine| mine.is_of_now() && mine.inner().is_of_same_runtime(self.pool))
    }

    /// Starts a task; as [`spawn`](fn@crate::spawn), but in this runtime.
    ///
    /// # Errors
    /// After a shutdown the task is dropped, and its handle says so
    /// ([`JoinError::is_shutdown`](crate::JoinError)).
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: TaskClosure<T> + Send + 'static,
        T: Send + 'static,
    {
        self.handle().spawn(f)
    }

    /// Starts a task that drives a future; as [`spawn_async`](fn@crate::spawn_async), but in this
    /// runtime.
    ///
    /// # Errors
    /// As for [`Runtime::spawn`].
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).build()?;
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
}

impl Handle {
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
        start_future(*self, future, Location::caller())
    }

    /// As [`Runtime::run`], but in this very pool: a task of another pool of the same runtime waits
    /// meanwhile.
    #[track_caller]
    pub fn run<F, T>(&self, f: F) -> T
    where
        F: FnOnce() -> T + Send,
        T: Send,
    {
        run_on(*self, Location::caller(), false, f)
    }

    /// As [`Runtime::block_on`], but in this very pool: the future is polled there.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).pool("interactive", 1).build()?;
    /// let interactive = rt.handle().pool("interactive").unwrap();
    /// let pool = interactive.block_on(async { myriad::Handle::current().unwrap().pool_name() });
    /// assert_eq!(&*pool, "interactive");
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn block_on<F>(&self, future: F) -> F::Output
    where
        F: Future<Output: Send> + Send,
    {
        self.run(|| block_on(future))
    }
}

/// Runs `f` as a task and returns its result: what `main` of a program of tasks calls.
///
/// On the global runtime, or, in a task, right there. `f` may borrow from the caller. Returns when
/// `f` has ended, whatever else it has spawned.
///
/// # Blocking
/// Until `f` has ended.
///
/// # Panics
/// If `f` panics, that panic goes on. If the global runtime cannot be started.
///
/// # Examples
/// ```
/// let total = myriad::run(|| {
///     let handles: Vec<_> = (0..10).map(|i| myriad::spawn(move || i)).collect();
///     handles.into_iter().map(|h| h.join().unwrap()).sum::<i32>()
/// });
/// assert_eq!(total, 45);
/// ```
#[track_caller]
pub fn run<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let location = Location::caller();
    match crate::sched::worker::current() {
        Some(_) => f(),
        None if borrower::home().is_some() => f(),
        None => run_on(home(), location, false, f),
    }
}

/// Starts a task in a pool of the runtime that the caller belongs to; as [`spawn`](fn@crate::spawn)
/// otherwise.
///
/// `default` is the pool of the main workers; others are made by
/// [`Builder::pool`](crate::Builder::pool). What the task spawns stays in its pool, unless it says
/// otherwise. A task of another pool is waited for like any other.
///
/// # Blocking
/// Never blocks.
///
/// # Panics
/// If the runtime has no pool of this name; the message names those that there are. (To ask, use
/// [`Handle::pool`].)
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(2).pool("interactive", 1).build()?;
/// rt.run(|| {
///     let answer = myriad::spawn_on("interactive", || 6 * 7);
///     assert_eq!(answer.join().unwrap(), 42);
/// });
/// # std::io::Result::Ok(())
/// ```
#[track_caller]
pub fn spawn_on<F, T>(pool: &str, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    here().expect_pool(pool).spawn(f)
}

/// Starts a task that drives a future in a pool of the runtime that the caller belongs to; as
/// [`spawn_async`](fn@crate::spawn_async) otherwise, and as [`spawn_on`]. The future stays in its
/// pool.
///
/// # Panics
/// As [`spawn_on`].
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(1).pool("interactive", 1).build()?;
/// let answer = rt.run(|| myriad::spawn_async_on("interactive", async { 6 * 7 }).join());
/// assert_eq!(answer.unwrap(), 42);
/// # std::io::Result::Ok(())
/// ```
#[track_caller]
pub fn spawn_async_on<F>(pool: &str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    here().expect_pool(pool).spawn_async(future)
}

/// Runs `f` in this pool, as a job of a [guest](crate::record::header::Kind::GUEST) or not, and
/// waits on whatever thread.
#[track_caller]
pub(crate) fn run_on<F, T>(home: Handle, location: &'static Location<'static>, guest: bool, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let w = worker::current();
    if w.as_ref().is_some_and(|w| home.has(w)) {
        return f();
    }
    home.inner().expect_here();
    // First: what panics here drops the closure.
    if let Some(Err(error)) = w.as_ref().map(|w| w.ensure_stack()) {
        panic!("{error}");
    }
    let task = StackTask::new(f);
    let number = home.inner().number;
    let word = if guest { KindWord::guest_on_stack(number) } else { KindWord::on_stack(number) };
    // SAFETY: the task stands in this frame, which `run_record` leaves when it has ended.
    let begun = unsafe { task.begin_elsewhere(word, location) };
    run_record(home, w, begun);
    // SAFETY: the task has ended, and this is the only taker.
    match unsafe { task.take_result() } {
        Ok(value) => value,
        Err(Some(payload)) => unwind::resume(payload),
        Err(None) => panic!("{ENDED}"),
    }
}

/// Gives the task to this runtime, and waits for its end. Compiled once.
/// `task` is one of the pool of `home`, in the caller's frame; there is a stack ensured.
#[inline(never)]
#[track_caller]
fn run_record(home: Handle, w: Option<Role>, task: InFrame) {
    let pool = home.inner();
    let record = task.address();
    // SAFETY: the record is in the caller's frame, which stands until the task is done: it is
    // waited for below, whatever happens.
    let begun = unsafe { TaskRef::from_raw(record) };
    let wait = JoinWait::new(w.as_deref(), begun);
    assert!(begun.wait(wait.node().cast_mut().cast()), "nobody else has the record yet");
    pool.begin_run(record);
    if let Err(refused) = home.try_inject(None, task.into_unstarted().into()) {
        // Nobody else knows the record, and nobody waits: what is dropped here is the caller's, and
        // may wait.
        pool.end_run(record);
        begun.forget_waiter();
        if let Err(payload) = user_code::call(|| refused.drop_payload()) {
            unwind::discard(payload);
        }
        panic!("{ENDED}");
    }
    let stays =
        AbortOnUnwind::new("a `run` was left by a panic while the task runs that is in its frame (a bug in Myriad)");
    // SAFETY: a stack is ensured; the node was left before the task can end, so its end wakes that,
    // once.
    _ = unsafe { worker::block(w, wait.node()) };
    stays.disarm();
    pool.end_run(record);
    deadlocked::forget_framed(record.addr());
}

const ENDED: &str = "the runtime has been shut down: it cannot run anything any more";

/// Lets all other tasks of this worker that are ready go first; on a foreign thread, other threads.
///
/// # Blocking
/// Only as long as they take.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// static DONE: AtomicBool = AtomicBool::new(false);
/// myriad::run(|| {
///     myriad::spawn(|| DONE.store(true, SeqCst));
///     while !DONE.load(SeqCst) {
///         myriad::yield_now();
///     }
/// });
/// ```
#[doc(alias = "Gosched")]
#[doc(alias = "sched_yield")]
pub fn yield_now() {
    match worker::current() {
        Some(w) => _ = w.yield_now(),
        None => myriad_base::sys::thread::yield_now(),
    }
}
