//! Jobs that may borrow: a scope does not end before they have.
//!
//! On Myriad's workers a scope *is* one of Myriad's, in a frame of ours that stands longer than it;
//! in a pool with own threads it is a count and a latch. Either way a job gets a reference to the
//! scope's frame, by a pointer: the frame stands until all have ended.

use crate::broadcast::BroadcastContext;
use crate::own::job::boxed;
use crate::own::latch::{Countdown, Latch};
use crate::own::registry::Registry;
use crate::own::worker::Fifo;
use crate::pool::Pool;
use crate::user_code::{self, FirstPanic};
use crate::{shared, unwind};
use myriad_core::Handle;
use myriad_core::engine::guest;
use myriad_core::engine::split;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// Starts jobs that may borrow what outlives the scope: see [`scope`].
pub struct Scope<'scope> {
    base: Base<'scope>,
}

/// A scope whose jobs each worker runs oldest first: see [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: Base<'scope>,
    /// One for each worker.
    fifos: Box<[Arc<Fifo>]>,
}

/// What both are.
struct Base<'scope> {
    kind: Kind,
    /// `'scope` neither grows nor shrinks: jobs take references of it in, and are given them back.
    #[allow(clippy::type_complexity)]
    marker: PhantomData<Box<dyn FnOnce(&Scope<'scope>) + Send + Sync + 'scope>>,
}

enum Kind {
    Shared {
        pool: Handle,
        /// Of Myriad. Null before it begins.
        scope: AtomicPtr<()>,
    },
    Own {
        registry: Arc<Registry>,
        /// Jobs that have not ended, and the body.
        count: Countdown,
        panic: FirstPanic,
    },
}

/// A pointer to the scope's frame, for its jobs.
struct Frame<S>(*const S);
// SAFETY: scopes are `Sync`.
unsafe impl<S: Sync> Send for Frame<S> {}
// SAFETY: scopes are `Sync`, and a shared pointer gives no more than `&S`.
unsafe impl<S: Sync> Sync for Frame<S> {}

impl<S> Frame<S> {
    /// # Safety
    /// A job of the scope asks, which has not ended.
    unsafe fn get(&self) -> &S {
        // SAFETY: a job of the scope asks, which has not ended (this function's contract): so the
        // scope still waits for it, in the frame that the pointer is to.
        unsafe { &*self.0 }
    }
}

/// A count of a scope's jobs, in its frame.
struct Count(*const Countdown);
// SAFETY: a countdown is for all threads.
unsafe impl Send for Count {}

impl Drop for Count {
    fn drop(&mut self) {
        // SAFETY: one for each job that was counted; the frame stands until the last.
        unsafe { Countdown::down(self.0) };
    }
}

impl<'scope> Base<'scope> {
    /// A scope of the caller in this pool.
    fn new(pool: Pool) -> Self {
        let kind = match pool {
            Pool::Shared(pool) => Kind::Shared { pool, scope: AtomicPtr::new(null_mut()) },
            Pool::Own(registry) => {
                let count = Countdown::new(1, Latch::of_caller(Some(&registry)));
                Kind::Own { registry, count, panic: FirstPanic::default() }
            }
        };
        Base { kind, marker: PhantomData }
    }

    /// Calls the body, waits for all jobs, and lets the first panic go on.
    fn run<R>(&self, body: impl FnOnce() -> R) -> R {
        match &self.kind {
            Kind::Shared { pool, scope } => {
                guest::expect_jobs(*pool);
                myriad_core::scope(|inner| {
                    // Release: for jobs that begin elsewhere. (They come through a queue.)
                    scope.store(std::ptr::from_ref(inner).cast_mut().cast(), Release);
                    body()
                })
            }
            Kind::Own { count, panic, .. } => {
                let result = user_code::body(body);
                unwind::never_left("a scope", || {
                    drop(Count(count));
                    count.wait();
                });
                let Some(first) = panic.take() else {
                    return result.unwrap_or_else(|payload| unwind::resume(payload));
                };
                // The body's own comes first; and nothing is dropped while this thread panics.
                match result {
                    Ok(value) => {
                        user_code::let_go(value);
                        unwind::resume(first);
                    }
                    Err(payload) => {
                        user_code::discard(first);
                        unwind::resume(payload);
                    }
                }
            }
        }
    }

    /// Starts a job.
    fn spawn(&self, job: impl FnOnce() + Send + 'scope) {
        match &self.kind {
            Kind::Shared { scope, .. } => {
                // SAFETY: Myriad's scope stands as long as a job, or the body, may call this; its
                // lifetimes are those of what the jobs borrow, which outlives it.
                let inner = unsafe { &*scope.load(Acquire).cast::<myriad_core::Scope<'scope, 'scope>>() };
                guest::spawn_job_in(inner, job);
                split::publish_one();
            }
            Kind::Own { registry, .. } => {
                // SAFETY: the scope waits for the job.
                registry.push(unsafe { boxed(self.counted(job)) });
            }
        }
    }

    /// Starts a job on each worker.
    fn spawn_broadcast(&self, job: impl Fn(BroadcastContext<'_>) + Send + Sync + 'scope) {
        match &self.kind {
            &Kind::Shared { pool, .. } => self.spawn(move || {
                shared::broadcast(pool, job);
            }),
            Kind::Own { registry, .. } => {
                let (n, job) = (registry.threads(), Arc::new(job));
                registry.broadcast((0..n).map(|index| {
                    let job = job.clone();
                    // SAFETY: the scope waits for all jobs that it has counted.
                    unsafe { boxed(self.counted(move || job(BroadcastContext::new(index, n)))) }
                }));
            }
        }
    }

    /// A job of a scope in a pool with own threads, that is counted, and whose panic is kept.
    fn counted(&self, job: impl FnOnce() + Send + 'scope) -> impl FnOnce() + Send {
        let Kind::Own { count, panic, .. } = &self.kind else { unreachable!("asked for own pools only") };
        count.up(1);
        let (count, panic) = (Count(count), Frame(panic));
        move || {
            if let Err(payload) = user_code::body(job) {
                // SAFETY: this job has not counted down yet, so the scope waits.
                unsafe { panic.get() }.keep(payload);
            }
            drop(count);
        }
    }
}

/// Calls `op` with a scope on a worker of the caller's pool (on other threads: the global one), and
/// returns when `op` and all jobs that were started in the scope, by `op` or by other such jobs,
/// have ended. They may borrow all that outlives the call.
///
/// A worker runs the scope's jobs newest first.
///
/// # Blocking
/// Until all have ended. On Myriad's workers the owner runs jobs of its own scope that nobody has
/// taken, then is set aside; in a pool with own threads the worker runs whatever jobs there are.
///
/// # Panics
/// If `op` or a job panics, all others are awaited, then one of the panics goes on.
///
/// # Examples
/// ```
/// let mut halves = [vec![3, 1], vec![4, 1]];
/// rayon_core::scope(|s| {
///     for half in &mut halves {
///         s.spawn(|_| half.sort());
///     }
/// });
/// assert_eq!(halves, [[1, 3], [1, 4]]);
/// ```
///
/// A job cannot borrow what ends with `op`:
/// ```compile_fail,E0373
/// rayon_core::scope(|s| {
///     let local = vec![1];
///     s.spawn(|_| drop(local.len()));
/// });
/// ```
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    scope_of(&Pool::current(), op)
}

/// As [`scope`], but a worker runs the jobs that it has started oldest first.
///
/// # Blocking
/// As [`scope`].
///
/// # Panics
/// As [`scope`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    scope_fifo_of(&Pool::current(), op)
}

/// As [`scope`], but `op` is called right here, also on a thread that is no worker: so it need not
/// be `Send`.
///
/// # Blocking
/// As [`scope`]; a thread that is no worker sleeps.
///
/// # Panics
/// As [`scope`].
///
/// # Examples
/// ```
/// let local = std::rc::Rc::new(6);
/// let mut product = 0;
/// rayon_core::in_place_scope(|s| {
///     let factor = *local;
///     let product = &mut product;
///     s.spawn(move |_| *product = factor * 7);
/// });
/// assert_eq!(product, 42);
/// ```
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    in_place_scope_of(&Pool::current(), op)
}

/// As [`in_place_scope`], with the order of [`scope_fifo`].
///
/// # Blocking
/// As [`in_place_scope`].
///
/// # Panics
/// As [`scope`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    in_place_scope_fifo_of(&Pool::current(), op)
}

pub(crate) fn scope_of<'scope, OP, R>(pool: &Pool, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    pool.in_worker(|_| in_place_scope_of(pool, op))
}

pub(crate) fn scope_fifo_of<'scope, OP, R>(pool: &Pool, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    pool.in_worker(|_| in_place_scope_fifo_of(pool, op))
}

pub(crate) fn in_place_scope_of<'scope, OP, R>(pool: &Pool, op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    let scope = Scope { base: Base::new(pool.clone()) };
    scope.base.run(|| op(&scope))
}

pub(crate) fn in_place_scope_fifo_of<'scope, OP, R>(pool: &Pool, op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    let fifos = (0..pool.threads()).map(|_| Arc::default()).collect();
    let scope = ScopeFifo { base: Base::new(pool.clone()), fifos };
    scope.base.run(|| op(&scope))
}

impl<'scope> Scope<'scope> {
    /// Starts a job in the scope, in whose pool it runs. It gets the scope, to start more.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Panics
    /// A panic of the job reaches who waits for the scope.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let frame = Frame(self);
        // SAFETY: a job of the scope asks, which has not ended.
        self.base.spawn(move || body(unsafe { frame.get() }));
    }

    /// Starts a job on every worker of the scope's pool.
    ///
    /// # Blocking
    /// As [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// As [`spawn`](Self::spawn).
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let frame = Frame(self);
        // SAFETY: a job of the scope asks, which has not ended.
        self.base.spawn_broadcast(move |context| body(unsafe { frame.get() }, context));
    }
}

impl<'scope> ScopeFifo<'scope> {
    /// As [`Scope::spawn`]; what a worker has started so in the scope it runs oldest first.
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Panics
    /// As [`Scope::spawn`].
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let frame = Frame(self);
        // SAFETY: a job of the scope asks, which has not ended.
        let job = move || body(unsafe { frame.get() });
        let index = match &self.base.kind {
            &Kind::Shared { pool, .. } => shared::worker_in(pool).map(|worker| worker.index() % self.fifos.len()),
            Kind::Own { registry, .. } => registry.worker().map(|w| w.index),
        };
        match index {
            Some(index) => {
                let stand_in = shared::put_scoped(&self.fifos[index], Box::new(job));
                self.base.spawn(move || stand_in.call());
            }
            // From outside they come in one after the other anyway.
            None => self.base.spawn(job),
        }
    }

    /// As [`Scope::spawn_broadcast`].
    ///
    /// # Blocking
    /// Never blocks.
    ///
    /// # Panics
    /// As [`Scope::spawn`].
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let frame = Frame(self);
        // SAFETY: a job of the scope asks, which has not ended.
        self.base.spawn_broadcast(move |context| body(unsafe { frame.get() }, context));
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo").field("fifos", &self.fifos.len()).finish_non_exhaustive()
    }
}
