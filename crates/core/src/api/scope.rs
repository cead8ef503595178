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
//! (Over 600 lines, of which more than a quarter are comments: the counting has one owner, and each
//! function that spawns, ends or waits is a part of it.)
//!
//! **Ordering.** `shared`: each count down is AcqRel, so that what any task did is visible after
//! the wait.

mod detached;

use super::handle::JoinHandle;
use super::{JoinError, TaskClosure, spawn};
use crate::queue::parked::{BEHIND_NODE, Parked, Resumable};
use crate::queue::reason::WaitReason;
use crate::record::create::Blank;
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Kind, Mode, Outcome, TaskFlags};
use crate::record::held::{Ending, Finished};
use crate::record::{memory, payload as record};
use crate::runtime::global;
use crate::sched::cancel::scoped_tasks::ScopeHead;
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::cancel::{self, checkpoint, request};
use crate::sched::context::{self, inherit};
use crate::sched::pool::{Handle, Pool};
use crate::sched::unwind::{self, AbortOnUnwind, Payload};
use crate::sched::user_code::{self, UserValue};
use crate::sched::waker::wake_waiter_as;
use crate::sched::worker::{self, Role, Worker, block_thread, wake_node};
use crate::sched::{finish, lifecycle};
use myriad_base::sys::atomic::{AtomicBool, AtomicIsize, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutex::Mutex;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::null_mut;

pub use detached::spawn_detached;

const OPEN: isize = isize::MAX / 2;

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

/// The first panic that nobody has joined. It goes on, or is discarded through the door.
pub(crate) type Kept = Option<UserValue<Payload>>;

/// In cache lines of its own: other workers write it for each task, and the owner reads and writes
/// what would stand beside it.
#[derive(Debug)]
#[repr(align(128))]
struct Apart<T>(T);

impl<T> std::ops::Deref for Apart<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

#[derive(Debug)]
struct Counts {
    /// The owner's thread ([`Stacks::runner`](crate::sched::stacks::Stacks::runner)); null for a
    /// foreign one.
    owner: *const (),
    /// Touched only on the owner's thread, until `merged`.
    local: Cell<isize>,
    merged: Cell<bool>,
    shared: Apart<AtomicIsize>,
    /// Who waits at the end; written before the merge.
    waiter: UnsafeCell<*mut Parked>,
}

// SAFETY: `local` and `merged` are touched by the owner's thread only, `waiter` is written before
// the merge and read after a count down that came after it.
unsafe impl Sync for Counts {}
// SAFETY: the owner does not leave its thread; what others reach is atomic, or `waiter`, by the
// order above.
unsafe impl Send for Counts {}

impl Counts {
    fn is_owner(&self, w: Option<&Worker>) -> bool {
        w.is_some_and(|w| std::ptr::eq(w.stacks.runner(), self.owner))
    }

    /// One more task.
    #[inline]
    fn up(&self, w: Option<&Worker>) {
        if self.is_owner(w) && !self.merged.get() {
            self.local.set(self.local.get() + 1);
        } else {
            // Relaxed: the spawner is itself counted, or is the owner.
            self.shared.fetch_add(1, Relaxed);
        }
    }

    /// One task has ended. The last access of the task to the scope.
    #[inline(always)]
    fn down(&self, w: Option<&Worker>) {
        if self.is_owner(w) && !self.merged.get() {
            self.local.set(self.local.get() - 1);
        } else {
            self.down_shared(w);
        }
    }

    #[inline(never)]
    fn down_shared(&self, w: Option<&Worker>) {
        // AcqRel: what the task did, for the owner; what the others did, for the one who wakes it.
        if self.shared.fetch_sub(1, AcqRel) == 1 {
            // SAFETY: at 0 the owner has merged and waits for us; it wrote the word before.
            let node = unsafe { Resumable::from_raw(self.waiter.with(|waiter| *waiter)) };
            wake_node(w, node);
        }
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

    /// Waits until all tasks have ended, after the scope's body has ended in this way.
    pub(super) fn end<T>(&self, result: Result<T, Payload>) -> T {
        if result.as_ref().is_err_and(cancel::is_cancellation) {
            self.cancel();
        }
        self.wait();
        match (result, self.take_panic()) {
            (Err(payload), second) => {
                // Before the first goes on: a destructor that panics while it does would end the
                // process.
                second.into_iter().for_each(unwind::discard);
                unwind::resume(payload)
            }
            (Ok(value), Some(payload)) => unwind::drop_and_resume(value, payload),
            // By its owner's cancellation, perhaps, which was only passed on.
            (Ok(value), None) if std::mem::needs_drop::<T>() => match unwind::catch(checkpoint::check_anywhere) {
                Ok(()) => value,
                Err(payload) => unwind::drop_and_resume(value, payload),
            },
            (Ok(value), None) => {
                checkpoint::check_anywhere();
                value
            }
        }
    }

    /// The first panic of a task that nobody joined.
    pub(super) fn take_panic(&self) -> Option<Payload> {
        self.panic.lock().take().map(UserValue::give)
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

    /// The owner's end: runs what is left of the scope in its own queue, then waits for the others.
    fn wait(&self) {
        let counts = &self.counts;
        // Tasks borrow from the frames below.
        let stays = AbortOnUnwind::new(LEFT);
        let mut w = worker::current();
        if let Some(here) = w {
            w = Some(self.run_own(here));
            if counts.local.get() == 0 && counts.shared.load(Acquire) == OPEN {
                // All have ended, and all that they did is visible.
                return stays.disarm();
            }
        }
        let no_stack = w.as_ref().is_some_and(|w| w.ensure_stack().is_err());
        let node = {
            let reason = WaitReason::Scope;
            w.as_ref().map_or_else(|| Parked::foreign(reason), |w| w.node(reason))
        };
        let wait = ScopeWait { node, scope: std::ptr::from_ref(self).cast() };
        wait.node.cancel_fn.set(Some(ScopeWait::pass_on));
        // (Of the whole wait: `pass_on` looks behind the node.)
        let node = (&raw const wait).cast::<Parked>();
        counts.waiter.with_mut(|waiter| {
            // SAFETY: nobody reads it before the merge below.
            unsafe { *waiter = node.cast_mut() }
        });
        counts.merged.set(true);
        let less = OPEN - counts.local.get();
        if w.is_none() && self.head.home.inner().is_elsewhere() && counts.shared.load(Acquire) != less {
            // Forked by its owner: its tasks are the parent's. (No unwinding leaves a frame that
            // was lent.)
            myriad_base::sys::thread::abort_with(&self.head.home.inner().elsewhere());
        }
        match w {
            Some(w) if no_stack => _ = w.wait_without_stack(|| counts.shared.load(Acquire) == less),
            w => {
                // AcqRel: the node, for who takes the count to 0; what the tasks did, for us.
                if counts.shared.fetch_sub(less, AcqRel) != less {
                    match w {
                        // SAFETY: a stack is ensured, and the last task wakes the node, once.
                        Some(w) => _ = unsafe { w.suspend(node) },
                        // SAFETY: the wait is this thread's, and stands; the pointer is that of the
                        // whole.
                        None => unsafe { block_thread(node) },
                    }
                }
            }
        }
        stays.disarm();
    }

    /// Runs the newest tasks of this worker's queue as long as they belong to this scope. (The
    /// inlining rule allows it: the scope's end cannot come before theirs.)
    fn run_own(&self, mut w: Role) -> Role {
        // SAFETY: what runs here is in this call, and so its record stands, whatever runs on top of
        // it meanwhile.
        let owner = unsafe { w.running.get().runs_here() };
        while w.has_room() {
            if checkpoint::is_cancelled(owner) {
                self.cancel();
            }
            let is_ours = |task: &Header| {
                // SAFETY: what is in a queue has not begun, so a scoped task's payload is its job.
                task.kind().has(Kind::SCOPED)
                    && std::ptr::eq(
                        unsafe { scope_of(std::ptr::from_ref(task).cast_mut()) },
                        std::ptr::from_ref(self).cast(),
                    )
            };
            let in_queues = || w.pool.workers.queues().and_then(|queues| queues.take_ours(w.shared.index, &is_ours));
            let Some(task) = w.deque().pop_newest().or_else(in_queues) else { return w };
            if !is_ours(task.header()) {
                w.push_any(task);
                return w;
            }
            let caller = w.running.replace(CurrentTask::of_task(task.address()));
            // SAFETY: `caller` is what ran here until now, and `task`, a scoped one, runs next.
            unsafe { checkpoint::put_framed_on_top(caller, task.address()) };
            (w, _) = w.run(task);
            w.running.set(caller);
        }
        w
    }
}

/// The owner's wait at the end.
#[repr(C)]
struct ScopeWait {
    node: Parked,
    scope: *const Scope<'static, 'static>,
}

// `pass_on` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(ScopeWait, node) == 0);
// `queue::look` finds the scope there.
const _: () = assert!(std::mem::offset_of!(ScopeWait, scope) == BEHIND_NODE);

impl ScopeWait {
    /// The owner is cancelled: so are the scope's tasks, for which it waits on.
    ///
    /// # Safety
    /// `node` is the node of a `ScopeWait`, and points into the whole. The owner of that is
    /// blocked, and does not go on before this returns.
    unsafe fn pass_on(node: *const Parked) -> bool {
        // SAFETY: `node` is that of a `ScopeWait`, whose owner is blocked (this function's
        // contract): it is in `wait`, so the scope stands.
        unsafe { (*(*node.cast::<ScopeWait>()).scope).cancel() };
        false
    }
}

/// What a scoped record holds. The scope's address comes first, whatever the closure.
#[repr(C)]
struct Job<F> {
    scope: *const Scope<'static, 'static>,
    f: F,
}

/// # Safety
/// `task` is a live scoped record whose task has not begun.
unsafe fn scope_of(task: *mut Header) -> *const Scope<'static, 'static> {
    const { assert!(std::mem::offset_of!(Job<()>, scope) == 0) };
    // SAFETY: a live scoped record, by the contract. A `Job` begins with the pointer, also where it
    // stands in a box: then this reads the box's address, which is no scope's; such a task is just
    // not run inline.
    unsafe { *record::get::<*const Scope<'static, 'static>>(task) }
}

/// `run` of a scoped closure's record.
///
/// # Safety
/// `task` is the caller's alone, of a `Job<F>` with the result `T`, and in the state that `mode`
/// says ([`Run`](crate::record::header::Run)).
unsafe fn run_job<F, T>(task: *mut Header, mode: Mode) -> Ended
where
    F: FnOnce() -> T,
{
    // SAFETY: this function's contract.
    unsafe { run_job_by::<F, T>(task, mode, |f, _| f()) }
}

/// The same; `call` calls the closure, and is told the scope.
///
/// # Safety
/// As for [`run_job`].
#[inline(always)]
unsafe fn run_job_by<F, T>(
    task: *mut Header,
    mode: Mode,
    call: impl FnOnce(F, *const Scope<'static, 'static>) -> T,
) -> Ended {
    // SAFETY: `task` is the caller's, and `mode` says what its payload is (this function's
    // contract): the job, which is taken out once, or the outcome. The scope's frame stands until
    // `down`.
    unsafe {
        if mode == Mode::DropOutcome {
            spawn::drop_outcome::<T>(task);
            return Ended::BySelf;
        }
        let Job { scope, f } = record::take::<Job<F>>(task);
        let counts = &raw const (*scope).counts;
        if mode == Mode::DropUnstarted {
            let dropped = UserValue::new(f).drop_value();
            let w = worker::current();
            // The caller completes; the scope is told here, because it is the last who knows it.
            // Only the outcome is written afterwards, to a record that no longer refers to the
            // scope.
            (*counts).down(w.as_deref());
            return match dropped {
                Ok(()) => Ended::BySelf,
                Err(payload) => unwind::resume(payload),
            };
        }
        let w = worker::current().expect("a task runs on a worker");
        let (mut w, result) = ScopedTasks::with(w, task, &raw const (*scope).head, || {
            // Relaxed flags: whoever sets them for a task that has not begun has its handle.
            // Acquire: pairs with `cancel`.
            if (*task).has_flags(TaskFlags::CANCELLED) || (*scope).head.cancelled.load(Acquire) {
                cancel::never_start(f)
            } else {
                user_code::body(|| call(f, scope))
            }
        });
        match result {
            Ok(value) => {
                record::put(task, value);
                (*task).set_outcome(Outcome::Returned);
            }
            Err(mut payload) => {
                cancel::end_cancellation(&mut payload);
                record::put::<Payload>(task, payload);
                (*task).set_outcome(Outcome::Panicked);
            }
        }
        if w.running.has_context() {
            w = context::end(w);
        }
        let ending = lifecycle::end_by_runner(task);
        // What is left of the task runs as the task until its record is freed, and is cancelled no
        // more. Once the end can be seen without that, nothing runs here as this task: the record
        // may be another one's.
        match ending {
            Ending::Held => {}
            Ending::Detached(task) => {
                // (As in `run_loop::task::end_detached`.)
                task.task_ref().drops_yet();
                // (What has no destructor is forgotten.)
                let returned = if std::mem::needs_drop::<T>() { Err(task) } else { task.into_value() };
                w = match returned.map_err(Finished::into_panic) {
                    Ok((_, record)) => {
                        finish::free(Some(&w), record);
                        w
                    }
                    Err(Ok((payload, record))) => {
                        cancel::keep_off_for_good(record.task_ref().header());
                        let w = finish::leave_task(keep(w, &(*scope).panic, payload));
                        finish::free(Some(&w), record);
                        w
                    }
                    Err(Err(task)) => {
                        cancel::keep_off_for_good(task.task_ref().header());
                        // Before the count: the result may borrow from the scope.
                        finish::drop_own_outcome(w, task)
                    }
                };
            }
            Ending::Awaited(waiter) => {
                w.running.set(CurrentTask::NOTHING);
                w = wake_waiter_as(w, waiter);
            }
        }
        (*counts).down(Some(&w));
    }
    Ended::BySelf
}

/// A scope's frame was left while tasks borrow from it.
const LEFT: &str = "the end of a scope was left by a panic while its tasks run, which borrow from it (a bug in Myriad)";

/// The first panic that nobody has joined goes on at the scope's end. A cancellation does not.
#[cold]
fn keep(w: Role, panic: &Mutex<Kept>, payload: Payload) -> Role {
    match keep_first(panic, payload) {
        Some(payload) => unwind::discard_as(Some(w), payload).expect("a worker stays one"),
        None => w,
    }
}

/// Keeps the first panic; any other one, and a cancellation, comes back to be discarded, without
/// the lock: its destructor is user code.
fn keep_first(panic: &Mutex<Kept>, payload: Payload) -> Option<Payload> {
    if cancel::is_cancellation(&payload) {
        return Some(payload);
    }
    let mut first = panic.lock();
    match *first {
        Some(_) => Some(payload),
        None => {
            *first = Some(UserValue::new(payload));
            None
        }
    }
}

/// The right to the result of a task of a scope. Dropping it leaves the task to the scope's end.
///
/// # Examples
/// ```
/// let numbers = vec![1, 2, 3];
/// let sum = myriad::scope(|s| s.spawn(|| numbers.iter().sum::<u32>()).join().unwrap());
/// assert_eq!(sum, 6);
/// ```
pub struct ScopedJoinHandle<'scope, T> {
    /// Dropped by our own destructor, so that most often nothing is left for a call.
    handle: ManuallyDrop<JoinHandle<T>>,
    /// Of the scope: where the panic goes if the handle is dropped when the task has panicked
    /// already.
    panic: &'scope Mutex<Kept>,
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.show("ScopedJoinHandle", f)
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As [`JoinHandle::join`].
    ///
    /// # Errors
    /// As [`JoinHandle::join`].
    #[inline]
    pub fn join(mut self) -> Result<T, JoinError> {
        self.handle.take().join()
    }
    /// As [`JoinHandle::cancel`].
    pub fn cancel(&self) {
        self.handle.cancel();
    }
    /// Has the task ended?
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

impl<T> Drop for ScopedJoinHandle<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(payload) = self.handle.take().give_up().and_then(|payload| keep_first(self.panic, payload)) {
            unwind::discard(payload);
        }
    }
}
