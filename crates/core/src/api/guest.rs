//! What the stand-in for another library's scheduler needs to know of ours, and no program does.
//!
//! Such a library (rayon) has an interface of its own in which threads have numbers: arrays are
//! made with one place for each, jobs ask whether they have been stolen, and something is to be
//! done once on every thread. Here are answers in terms of workers. They cost a few loads; `join`
//! and `spawn` know nothing of them. What such a library begins is marked as a *job* ([`join`],
//! [`spawn_job`], [`spawn_job_in`], [`run`]), so that spares can pass it over (`sched::spare`).

use crate::sched::borrower;
pub use crate::sched::driver::when_idle;

use crate::api::portable::Portable;
use crate::api::run::run_on;
use crate::api::{JoinHandle, Scope, blocking, pair, spawn};
use crate::record::header::Kind;
use crate::record::task::Runnable;
use crate::runtime::global;
use crate::sched::idle::WorkerShared;
use crate::sched::pool::Handle;
use crate::sched::pool::Pool;
use crate::sched::run_loop;
use crate::sched::worker::{self, Peer, Worker};
use std::marker::PhantomData;
use std::panic::Location;

/// The worker on which the caller runs at the moment. In threads mode a task may find itself on
/// another one after a wait.
///
/// Of the thread that asked, and so not `Send`; what it says of the worker is asked anew at each
/// use.
#[derive(Debug, Clone, Copy)]
pub struct WorkerRef {
    shared: &'static WorkerShared,
    thread: PhantomData<*mut ()>,
}

/// Where the caller runs; `None` on a thread that is no worker.
#[inline(always)]
pub fn worker() -> Option<WorkerRef> {
    worker::current().map(|w| WorkerRef { shared: &w.as_static().shared, thread: PhantomData })
}

/// The pool into which a thread that is no worker spawns: the global runtime's, which is started if
/// it does not run.
///
/// # Panics
/// If it cannot be started.
pub fn outside() -> Handle {
    global::home()
}

/// Does the calling thread belong to Myriad, so that it is somebody else's when the caller has
/// ended? It is a worker's, keeps a task ([`keep_thread`](crate::task::keep_thread), a task with a
/// thread of its own), or is there for calls that block.
pub fn is_own_thread() -> bool {
    worker::current().is_some() || borrower::home().is_some() || blocking::works_here()
}

/// Does the global runtime run already?
pub fn is_global_running() -> bool {
    global::is_running()
}

impl WorkerRef {
    /// What tells the worker from all others: may be taken along to another thread, and compared
    /// there.
    #[inline(always)]
    pub fn id(self) -> usize {
        std::ptr::from_ref(self.shared).addr()
    }

    fn inner(self) -> &'static Pool {
        Peer::of(self.shared).pool
    }

    /// The worker's number: below [`workers`](Self::workers), but for a spare's.
    #[inline(always)]
    pub fn index(self) -> usize {
        self.shared.index
    }

    /// How many workers the pool has, without spares.
    #[inline]
    pub fn workers(self) -> usize {
        self.inner().regular_workers().len()
    }

    /// The worker's pool.
    pub fn pool(self) -> Handle {
        Handle::of(self.inner())
    }

    /// Are there unstarted tasks in the worker's own queue?
    pub fn has_unstarted(self) -> bool {
        self.shared.deque.looks_busy()
    }

    /// Is one of them where others take it at once, without force? (They may have, when this
    /// returns.)
    pub fn has_public(self) -> bool {
        self.shared.deque.has_public()
    }

    /// There will be jobs in the pool: see [`expect_jobs`].
    #[inline]
    pub fn expect_jobs(self) {
        self.inner().expect_jobs();
    }

    /// Runs an unstarted task, the worker's newest or one from elsewhere, on top of the caller, on
    /// the same stack. False: there was none; or less than half of the stack is left, or the caller
    /// is no task, or its thread panics.
    ///
    /// This is against the rule that nothing runs on top of a task but what that waits for. The
    /// caller has asked for it: it waits for this task, which may be any, and will not go on before
    /// that has ended.
    ///
    /// # Blocking
    /// Until that task has ended. The caller is not cancelled meanwhile.
    pub fn run_one(self, from: Queues) -> bool {
        // (The caller's role of this moment: it may have waited since it asked for this reference.)
        let Some(w) = worker::current() else { return false };
        if w.task().is_none() || !w.has_room() || std::thread::panicking() {
            return false;
        }
        let Some(task) = take(&w, from) else { return false };
        let caller = w.running.get();
        run_loop::start(w, task).running.set(caller);
        true
    }
}

/// Where [`WorkerRef::run_one`] looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queues {
    /// In the worker's own queues.
    Own,
    /// There, then in those of all.
    All,
}

/// An unstarted task.
fn take(w: &Worker, from: Queues) -> Option<Runnable> {
    let mut task = w.deque().pop_newest();
    if task.is_none() && w.shared.has_pinned() {
        task = w.pool.take_pinned(w);
    }
    if from == Queues::Own || w.passes_jobs_over() {
        return task;
    }
    if task.is_none() && w.pool.workers.may_have_injected() {
        task = w.pool.take_injected(w, true);
    }
    for victim in w.pool.workers.others(&w.shared) {
        if task.is_some() {
            break;
        }
        task = run_loop::steal(w, victim);
    }
    task
}

/// Spawns a task that only worker `index` of this pool begins, even if it is busy or asleep now.
///
/// # Safety
/// What `f` and `T` borrow outlives the task: it has ended once the handle was joined.
///
/// # Panics
/// If there is no such worker.
#[track_caller]
pub unsafe fn spawn_on_worker<F, T>(pool: Handle, index: usize, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let workers = pool.workers();
    assert!(index < workers, "there is no worker {index}: the pool has {workers}");
    // SAFETY: what `f` and `T` borrow outlives the task (this function's contract).
    let f = unsafe { Portable::borrowing(f) };
    spawn::spawn_pinned(pool, index, f, Location::caller(), crate::api::Builder::new())
}

/// There will be jobs among the pool's tasks: what [`join`], [`spawn_job`], [`spawn_job_in`] and
/// [`run`] of this module begin. No more of them are begun at a time than the pool has workers:
/// spares pass them over.
///
/// To be said before the first job. (A spare that has not heard of it sees what it has taken.)
#[inline]
pub fn expect_jobs(pool: Handle) {
    pool.inner().expect_jobs();
}

/// As [`crate::join`], where `b` is a job.
///
/// # Blocking
/// Until both have ended.
///
/// # Panics
/// As [`crate::join`].
#[inline]
#[track_caller]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    pair::join_at::<true, _, _, _, _>(a, b, Location::caller())
}

/// As [`Handle::spawn`], of a job, which nobody joins.
///
/// # Panics
/// As [`Handle::spawn`].
#[track_caller]
pub fn spawn_job<F>(pool: Handle, f: F)
where
    F: FnOnce() + Send + 'static,
{
    drop(spawn::spawn_guest(pool, f, Location::caller()));
}

/// If the caller is a worker of this pool, starts what `make` has made, as a task that nobody
/// joins. (To spawn, and to drop the handle, takes 60 instructions more.)
///
/// # Errors
/// The caller is none: `make` comes back.
#[inline(always)]
#[track_caller]
pub fn spawn_detached_here<F, M>(pool: Handle, make: M) -> Result<(), M>
where
    F: FnOnce() + Send + 'static,
    M: FnOnce() -> F,
{
    spawn::spawn_detached_here(pool, make, Location::caller())
}

/// As [`Handle::spawn`], of a task which nobody joins, behind those that the calling worker has:
/// for who has had a long turn, and has more to do.
///
/// # Panics
/// If the runtime is that of the process from which this one was forked. In a runtime that has
/// ended the closure is dropped.
#[track_caller]
pub fn spawn_behind<F>(pool: Handle, f: F)
where
    F: FnOnce() + Send + 'static,
{
    spawn::spawn_behind(pool, f, Location::caller());
}

/// As [`Scope::spawn`], of a job, which nobody joins.
#[track_caller]
pub fn spawn_job_in<'scope, F>(scope: &'scope Scope<'scope, '_>, f: F)
where
    F: FnOnce() + Send + 'scope,
{
    drop(scope.spawn_as(Kind::CLOSURE.and(Kind::SCOPED).and(Kind::GUEST), f));
}

/// As [`Handle::run`], of a job.
///
/// # Blocking
/// Until it has ended.
///
/// # Panics
/// As [`Handle::run`].
#[track_caller]
pub fn run<F, T>(pool: Handle, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    run_on(pool, Location::caller(), true, f)
}

/// Do both spawn into the same pool?
#[inline]
pub fn is_same(one: Handle, other: Handle) -> bool {
    std::ptr::eq(one.inner(), other.inner())
}

/// Does a worker of the pool sleep, as it has nothing to do? (Spares do not count.) True of some
/// moment; [`when_idle`] says how to miss none.
pub fn has_idle(pool: Handle) -> bool {
    let pool = pool.inner();
    pool.workers.all().iter().take(pool.regular_workers().len()).any(|shared| shared.sleeps())
}

/// A number of the pool, which no other has at the same time.
pub fn number(pool: Handle) -> usize {
    usize::from(pool.inner().number)
}
