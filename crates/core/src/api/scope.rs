//! Scopes: tasks that borrow.
//!
//! ```text
//!  scope frame: Scope { local, shared, waiter, panic }    <- tasks hold a pointer to it
//!  end: run own newest tasks of this scope inline; shared -= OPEN - local; wait until 0
//! ```
//! **Counting.** What the owner's thread spawns and ends is counted in `local`, without atomics (in
//! fiber mode that is all that its worker does; in threads mode what the owner itself does and what
//! runs on top of it); all else in `shared`, which starts at [`OPEN`] so that it cannot reach 0
//! before the owner has come to its end and merged the two. After the merge everybody counts in
//! `shared`, and who takes it to 0 wakes the owner.
//!
//! **Invariant.** A task touches the scope last when it counts itself down; the frame stands until
//! all have.
//!
//! **Ordering.** `shared`: each count down is AcqRel, so that what any task did is visible after
//! the wait.
//!
//! The counting has one owner, and each function that spawns, ends or waits is a part of it. A task
//! begins and ends in `scope/job.rs`, is counted in `scope/counts.rs`, and is waited for in
//! `scope/end.rs`.

mod counts;
mod detached;
mod end;
mod handle;
mod job;
mod panics;

pub use detached::spawn_detached;
pub use handle::ScopedJoinHandle;
pub(crate) use panics::Kept;

use super::TaskClosure;
use super::handle::JoinHandle;
use crate::record::create::Blank;
use crate::record::header::Kind;
use crate::record::memory;
use crate::runtime::global;
use crate::sched::cancel::request;
use crate::sched::cancel::scoped_tasks::ScopeHead;
use crate::sched::context::inherit;
use crate::sched::pool::{Handle, Pool};
use crate::sched::{user_code, worker};
use counts::{Apart, Counts, OPEN};
use job::{Job, run_job};
use myriad_base::sys::atomic::{AtomicBool, AtomicIsize, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutex::Mutex;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::null_mut;

/// Spawns tasks that may borrow what outlives the [`scope`].
///
/// # Examples
/// ```
/// let words = ["one", "two"];
/// let lengths = myriad::scope(|s| {
///     let tasks = words.map(|word| s.spawn(move || word.len()));
///     tasks.map(|h| h.join().unwrap())
/// });
/// assert_eq!(lengths, [3, 3]);
/// ```
pub struct Scope<'scope, 'env: 'scope> {
    counts: Counts,
    /// Its tasks are cancelled, and no more begin; and whose it is.
    head: ScopeHead,
    /// Other runtimes whose workers have spawned into it.
    strangers: Mutex<Vec<&'static Pool>>,
    /// The panic of a task that nobody joined. (Taken out at the scope's end, so that nothing is
    /// dropped with the frame.)
    panic: Mutex<Kept>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show("Scope", f)
    }
}

impl Scope<'_, '_> {
    /// For `Debug`, under this name.
    pub(super) fn show(&self, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: it says how it was.
        f.debug_struct(what).field("cancelled", &self.head.cancelled.load(Relaxed)).finish_non_exhaustive()
    }
}

/// Calls `f` with a scope, and returns when `f` and all tasks spawned in the scope have ended.
///
/// Tasks of the scope may borrow everything that outlives the call, may spawn further ones, and may
/// block.
///
/// # Blocking
/// At its end, until all tasks have ended; those of its own queue run right there.
///
/// # Cancellation
/// If the caller is cancelled, so are all tasks of the scope; it unwinds when they have ended. A
/// task of the scope that was cancelled is no error of the scope. See
/// [`try_scope`](super::try_scope) for a scope whose tasks are cancelled at the first error.
///
/// # Aborts
/// If the owner is a foreign thread or a task of another runtime than the scope's tasks, whose
/// runtime ends while one of them is blocked: see [`Runtime::shutdown`](crate::Runtime::shutdown).
/// Such a task never ends, and what it borrows may be in use elsewhere: so the owner can neither go
/// on nor be told. In a child of `fork`, if the scope was begun before.
///
/// # Panics
/// If `f` panics, that panic goes on after all tasks have ended; else the first panic of a task
/// that was not joined.
///
/// # Examples
/// ```
/// let mut parts = [1, 2, 3];
/// myriad::scope(|s| {
///     for x in &mut parts {
///         s.spawn(move || *x *= 10);
///     }
/// });
/// assert_eq!(parts, [10, 20, 30]);
/// ```
#[doc(alias = "nursery")]
#[doc(alias = "TaskGroup")]
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope::new();
    let result = user_code::body(|| f(&scope));
    scope.end(result)
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// A scope of the caller.
    pub(super) fn new() -> Self {
        let w = worker::current();
        Scope {
            counts: Counts {
                owner: w.as_ref().map_or(std::ptr::null(), |w| w.stacks.runner()),
                local: Cell::new(0),
                merged: Cell::new(false),
                shared: Apart(AtomicIsize::new(OPEN)),
                waiter: UnsafeCell::new(null_mut()),
            },
            head: ScopeHead {
                cancelled: AtomicBool::new(false),
                home: w.as_ref().map_or_else(global::home, |w| Handle::of(w.pool)),
                foreign: w.is_none(),
            },
            strangers: Mutex::default(),
            panic: Mutex::new(None),
            scope: PhantomData,
            env: PhantomData,
        }
    }

    /// Cancels all tasks of the scope, and those that are spawned in it from now on. See
    /// [`cancel`](crate::cancel).
    ///
    /// # Blocking
    /// Never blocks: the scope's end waits for them.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// myriad::scope(|s| {
    ///     for _ in 0..100 {
    ///         s.spawn(|| myriad::time::sleep(Duration::from_secs(3600)));
    ///     }
    ///     s.cancel();
    /// });
    /// ```
    pub fn cancel(&self) {
        // Release: pairs with the Acquire in `Frame::is_cancelled` and of a task that begins.
        if self.head.cancelled.swap(true, AcqRel) {
            return;
        }
        request::request_all(self.head.home.inner());
        let strangers = std::mem::take(&mut *self.strangers.lock());
        strangers.into_iter().for_each(request::request_all);
    }

    /// Was it cancelled?
    pub fn is_cancelled(&self) -> bool {
        self.head.cancelled.load(Acquire)
    }

    /// A worker of another runtime spawns.
    #[cold]
    fn note_stranger(&self, pool: &'static Pool) {
        let mut strangers = self.strangers.lock();
        if !strangers.iter().any(|known| std::ptr::eq(*known, pool)) {
            strangers.push(pool);
        }
    }

    /// Starts a task in the scope; like [`spawn`](crate::spawn), but `f` may borrow.
    ///
    /// # Blocking
    /// Never blocks.
    #[inline]
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: TaskClosure<T> + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_as(Kind::CLOSURE.and(Kind::SCOPED), f)
    }

    /// The same of a task of this kind.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn spawn_as<F, T>(&'scope self, kind: Kind, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let location = Location::caller();
        let w = worker::current();
        // Nobody drops it on the way: see `spawn::spawn_into`.
        let job = ManuallyDrop::new(Job { scope: std::ptr::from_ref(self).cast(), f });
        self.counts.up(w.as_deref());
        // A worker of another runtime spawns into its own, as anywhere.
        let (blank, pool) = match &w {
            Some(w) => {
                if !std::ptr::eq(w.pool, self.head.home.inner()) {
                    self.note_stranger(w.pool);
                }
                (Blank::of(&w.memory), w.pool)
            }
            None => (Blank::of(&memory::global_free_list()), self.head.home.inner()),
        };
        // SAFETY: `run_job` is the function of such records. The closure and its result are `Send`,
        // and 'scope outlives the task: the scope's frame waits for it.
        let task = unsafe { blank.closure(run_job::<F, T>, kind, pool.number, job, location) };
        let held = match &w {
            Some(w) => w.push_new(task),
            None => task.through(|task| self.head.home.inject(None, inherit::closure(None, task, None).into())),
        };
        ScopedJoinHandle { handle: ManuallyDrop::new(JoinHandle::new(held)), panic: &self.panic }
    }
}
