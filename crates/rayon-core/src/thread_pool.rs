//! Pools with own threads, and what a job may ask about where it runs.

use crate::broadcast::BroadcastContext;
use crate::own::worker::Worker;
use crate::pool::Pool;
use crate::{Scope, ScopeFifo, Yield, scope};
use myriad_core::engine::guest;
use std::fmt;

/// A pool with threads of its own: see
/// [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
///
/// In it a worker that waits in a `join`, a scope or an `install` runs other jobs of its pool
/// meanwhile, on top, as in rayon; what else blocks, blocks the thread. (Channels and locks of
/// Myriad work, as on every thread that is no worker of theirs.)
///
/// Dropping it does not wait: its threads end when all jobs have ended that nobody waits for.
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// assert_eq!(pool.install(|| rayon_core::join(|| 1, || 2)), (1, 2));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPool {
    pool: Pool,
}

impl ThreadPool {
    pub(crate) fn of(pool: Pool) -> ThreadPool {
        ThreadPool { pool }
    }

    /// As [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    ///
    /// # Errors
    /// As there.
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<ThreadPool, Box<dyn std::error::Error>> {
        configuration.build()
    }

    /// Runs `op` on a worker of this pool: right here, if the caller is one. What it calls (`join`,
    /// parallel iterators, ...) stays in the pool.
    ///
    /// # Blocking
    /// Until `op` has ended. A worker of another pool runs jobs of its own meanwhile, a task of
    /// Myriad is set aside, a thread sleeps.
    ///
    /// # Panics
    /// If `op` does.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.pool.in_worker(|_| op())
    }

    /// As [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        self.pool.broadcast(op)
    }

    /// How many threads it has.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.pool.threads()
    }

    /// Which of its threads the caller is, if one.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.pool.index()
    }

    /// Has the calling thread, if it is one of this pool, jobs in its own queue?
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.pool.index().and_then(|_| current_thread_has_pending_tasks())
    }

    /// As [`join`](crate::join()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| crate::join(oper_a, oper_b))
    }

    /// As [`scope`](crate::scope()) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        scope::scope_of(&self.pool, op)
    }

    /// As [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// # Panics
    /// As there.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        scope::scope_fifo_of(&self.pool, op)
    }

    /// As [`in_place_scope`](crate::in_place_scope): `op` is called here, its jobs run in this
    /// pool.
    ///
    /// # Panics
    /// As there.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_of(&self.pool, op)
    }

    /// As [`in_place_scope_fifo`](crate::in_place_scope_fifo): `op` is called here, its jobs run in
    /// this pool.
    ///
    /// # Panics
    /// As there.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_of(&self.pool, op)
    }

    /// As [`spawn`](crate::spawn()) in this pool.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn(op);
    }

    /// As [`spawn_fifo`](crate::spawn_fifo) in this pool.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        self.pool.spawn_fifo(op);
    }

    /// As [`spawn_broadcast`](crate::spawn_broadcast) in this pool.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        self.pool.spawn_broadcast(op);
    }

    /// As [`yield_now`](crate::yield_now), if the caller is one of this pool's threads.
    pub fn yield_now(&self) -> Option<Yield> {
        self.pool.index().and_then(|_| crate::yield_now())
    }

    /// As [`yield_local`](crate::yield_local), if the caller is one of this pool's threads.
    pub fn yield_local(&self) -> Option<Yield> {
        self.pool.index().and_then(|_| crate::yield_local())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if let Pool::Own(registry) = &self.pool {
            registry.release();
        }
    }
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPool").field("num_threads", &self.current_num_threads()).finish_non_exhaustive()
    }
}

/// The most threads that a pool can be asked for; more are cut down to it.
pub fn max_num_threads() -> usize {
    // As many as Myriad has workers at most, which a runtime refuses to exceed.
    1 << 14
}

/// How many jobs the caller's pool (on other threads: the global one) runs at a time: its workers,
/// or threads.
///
/// # Panics
/// If the global pool is needed, and cannot be started.
#[inline]
pub fn current_num_threads() -> usize {
    match guest::worker() {
        Some(worker) => {
            worker.expect_jobs();
            worker.workers()
        }
        None => elsewhere(),
    }
}

#[inline(never)]
fn elsewhere() -> usize {
    match Worker::current() {
        Some(w) => w.registry.threads(),
        None => Pool::current().threads(),
    }
}

/// The number of the caller's worker in its pool, below [`current_num_threads`]; `None` on other
/// threads.
///
/// No two jobs that run at the same time have the same number, and it does not change while a job
/// runs. On Myriad's workers in threads mode there is one exception, where under rayon the program
/// would hang: a job that goes on after a wait while its worker is stuck in another job (in a lock
/// of std's, say) has the number of the worker that has come to its rescue, which may be a spare's,
/// with a number above the others.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    match guest::worker() {
        Some(worker) => {
            worker.expect_jobs();
            Some(worker.index())
        }
        None => Worker::current().map(|w| w.index),
    }
}

/// Has the caller's worker jobs in its own queue? `None` on a thread that is no worker.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    match guest::worker() {
        Some(worker) => Some(worker.has_unstarted()),
        None => Worker::current().map(Worker::has_own),
    }
}
