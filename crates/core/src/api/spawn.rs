//! Spawning closures.

use super::builder::Builder;
use super::closure::TaskClosure;
use super::handle::JoinHandle;
use super::portable::Portable;
use crate::record::create::{Blank, Created, OneTask, Unheld};
use crate::record::header::{Ended, Header, Kind, Mode, Outcome, TaskFlags};
use crate::record::held::HeldTask;
use crate::record::{memory, payload as record};
use crate::sched::pool::Handle;
use crate::sched::pool::Pool;
use crate::sched::unwind::{self, Payload};
use crate::sched::worker::{self, Role};
use crate::sched::{cancel, finish, hints, user_code};
use std::panic::Location;

/// Starts a task that runs `f`, and returns a handle to its result.
///
/// The task is queued on this worker, and any worker may take the task. It may block on
/// everything in this library. `f` and its result are `Send` because the task may run on another
/// thread; a task that has begun stays on its thread. Without a runtime, starts the global one
/// (threads mode, a worker for each core).
///
/// For a future write [`spawn_async`](crate::spawn_async): the result of `spawn(|| async { .. })`
/// is a future that nobody runs. A dropped handle detaches the task, which runs on. When `main`
/// returns the process ends, and all tasks with it, without a word: join what has to be finished.
///
/// # Blocking
/// Never blocks.
///
/// # Panics
/// A panic in `f` stops at the task and reaches whoever joins it; of a detached task it is reported
/// (see [`Builder::on_unhandled_panic`](crate::Builder::on_unhandled_panic)). `spawn` itself panics
/// only where the global runtime is needed and cannot be started.
///
/// # Examples
/// ```
/// let h = myriad::spawn(|| 6 * 7);
/// assert_eq!(h.join().unwrap(), 42);
/// ```
#[doc(alias = "goroutine")]
#[doc(alias = "go")]
#[inline]
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: TaskClosure<T> + Send + 'static,
    T: Send + 'static,
{
    let location = Location::caller();
    match worker::current() {
        Some(w) => spawn_here(w, Portable::closure(f), Kind::CLOSURE, location),
        None => spawn_from_outside(Portable::closure(f), location),
    }
}

/// Spawns into this runtime, from anywhere.
pub(crate) fn spawn_on<F, T>(home: Handle, f: F, location: &'static Location<'static>) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match worker::current() {
        // As `spawn`: also during a shutdown.
        Some(w) if home.has(&w) => spawn_here(w, Portable::closure(f), Kind::CLOSURE, location),
        _ => spawn_into(home, Portable::closure(f), location, Builder::new(), Kind::CLOSURE),
    }
}

/// If the caller is a worker of this pool, starts what `make` has made, as a task that nobody
/// joins. `Err`: else `make` comes back.
#[inline(always)]
pub(crate) fn spawn_detached_here<F, M>(home: Handle, make: M, location: &'static Location<'static>) -> Result<(), M>
where
    F: FnOnce() + Send + 'static,
    M: FnOnce() -> F,
{
    let Some(w) = worker::current().filter(|w| home.has(w)) else { return Err(make) };
    let blank = Blank::of(&w.memory);
    let f = Portable::closure(make()).into_inner();
    // SAFETY: as in `spawn_here`.
    w.push_detached(unsafe { blank.closure_to_push(run_closure::<F, ()>, w.kind_word, Kind::CLOSURE, f, location) });
    Ok(())
}

/// Spawns into this pool as from outside: behind the tasks that the calling worker has.
pub(crate) fn spawn_behind<F>(home: Handle, f: F, location: &'static Location<'static>)
where
    F: FnOnce() + Send + 'static,
{
    drop(spawn_into(home, Portable::closure(f), location, Builder::new(), Kind::CLOSURE));
}

/// Spawns a job of a [guest](Kind::GUEST) into this pool, from anywhere.
pub(crate) fn spawn_guest<F>(home: Handle, f: F, location: &'static Location<'static>) -> JoinHandle<()>
where
    F: FnOnce() + Send + 'static,
{
    const JOB: Kind = Kind::CLOSURE.and(Kind::GUEST);
    match worker::current() {
        Some(w) if home.has(&w) => spawn_here(w, Portable::closure(f), JOB, location),
        _ => spawn_into(home, Portable::closure(f), location, Builder::new(), JOB),
    }
}

/// Spawns on the calling worker.
#[inline(always)]
pub(crate) fn spawn_here<F: FnOnce() -> T, T>(
    w: Role,
    f: Portable<F>,
    kind: Kind,
    location: &'static Location<'static>,
) -> JoinHandle<T> {
    let blank = Blank::of(&w.memory);
    // SAFETY: `run_closure` is the function of such records. The closure and its result may be used
    // on any thread, and what they borrow outlives the task (`Portable`).
    let task = unsafe { blank.closure_to_push(run_closure::<F, T>, w.kind_word, kind, f.into_inner(), location) };
    JoinHandle::new(w.push_new(task))
}

/// Spawns into the global runtime, on a thread that is no worker.
#[inline(always)]
fn spawn_from_outside<F: FnOnce() -> T, T>(f: Portable<F>, location: &'static Location<'static>) -> JoinHandle<T> {
    let home = global_home();
    let task = create(f, Kind::CLOSURE, number_of(&home), location);
    JoinHandle::new(task.through(|task| {
        let (home, task) = or_refuse(home, task);
        inject(home, task, Builder::new())
    }))
}

/// Where a thread that is no worker spawns; or why there is none, for [`or_refuse`].
#[cold]
#[inline(never)]
pub(super) fn global_home() -> Result<Handle, Payload> {
    unwind::catch(crate::runtime::global::home)
}

pub(super) fn number_of(home: &Result<Handle, Payload>) -> u8 {
    home.as_ref().map_or(0, |home| home.inner().number)
}

/// That place; or drops what was to be spawned, and panics.
#[cold]
#[inline(never)]
pub(super) fn or_refuse<'a, N: Into<Unheld<OneTask<'a>>>>(home: Result<Handle, Payload>, task: N) -> (Handle, N) {
    match home {
        Ok(home) => (home, task),
        Err(payload) => {
            finish::drop_unstarted(task.into().into_detached());
            unwind::resume(payload)
        }
    }
}

/// Spawns into this pool, from wherever, with what the builder says (its token is the caller's
/// business).
///
/// Inlined, but for what is rare and knows nothing of `f`: were `f` handed to a function it would
/// have to stand in memory for [`spawn_here`], too, written in words there and read at once in
/// pairs of words, which a processor cannot forward from its store buffer. (That was a third of the
/// time of a spawn with its join.) For the same reason it is never dropped on the way, which would
/// take its address: what comes between does not panic, or comes when `f` is in the record.
#[inline(always)]
pub(crate) fn spawn_into<F: FnOnce() -> T, T>(
    home: Handle,
    f: Portable<F>,
    location: &'static Location<'static>,
    with: Builder,
    kind: Kind,
) -> JoinHandle<T> {
    let task = create(f, kind, home.inner().number, location);
    JoinHandle::new(task.through(|task| inject(home, task, with)))
}

/// Spawns a task that only this worker of the pool begins, with what the builder says but for its
/// place.
pub(crate) fn spawn_pinned<F: FnOnce() -> T, T>(
    home: Handle,
    worker: usize,
    f: Portable<F>,
    location: &'static Location<'static>,
    with: Builder,
) -> JoinHandle<T> {
    let pool = home.inner();
    let task = create(f, Kind::CLOSURE, pool.number, location);
    JoinHandle::new(task.through(|task| home.pin(with.equip(worker::current().as_deref(), pool, task).into(), worker)))
}

/// A closure as a task of the runtime of this number, in memory of whoever calls. In no queue yet.
#[inline(always)]
pub(crate) fn create<F: FnOnce() -> T, T>(
    f: Portable<F>,
    kind: Kind,
    runtime: u8,
    location: &'static Location<'static>,
) -> Created<T> {
    // SAFETY: as in `spawn_here`.
    unsafe { blank().closure(run_closure::<F, T>, kind, runtime, f.into_inner(), location) }
}

/// Memory for a record, of whoever calls.
#[inline(always)]
pub(super) fn blank<P, T>() -> Blank<P, T> {
    // SAFETY: fresh memory of the class.
    unsafe { Blank::from_raw(fresh(Blank::<P, T>::CLASS)) }
}

#[cold]
#[inline(never)]
fn fresh(class: usize) -> *mut Header {
    worker::current().map_or_else(|| memory::global_free_list().alloc(class), |w| w.memory.alloc(class)).cast()
}

/// Queues a task of the pool of `home`, with what the builder says.
#[cold]
#[inline(never)]
fn inject<'a>(home: Handle, task: Created<OneTask<'a>>, with: Builder) -> HeldTask<OneTask<'a>> {
    let (w, queue, place) = (worker::current(), with.class().queue(), with.worker());
    let task = with.equip(w.as_deref(), home.inner(), task);
    if let Some(worker) = place {
        return home.pin(task.into(), worker);
    }
    match w {
        Some(w) if home.has(&w) && queue.is_none() => {
            let (task, held) = task.into_parts();
            w.push(task);
            held
        }
        _ => home.inject(queue, task.into()),
    }
}

/// `run` of a closure's record.
///
/// # Safety
/// `task` is the caller's alone, of the types `F` and `T`, and in the state that `mode` says
/// ([`Run`](crate::record::header::Run)).
pub(crate) unsafe fn run_closure<F, T>(task: *mut Header, mode: Mode) -> Ended
where
    F: FnOnce() -> T,
{
    // SAFETY: `task` is the caller's, and `mode` says what its payload is (this function's
    // contract): the closure, which is taken once, so that the result finds the payload empty.
    unsafe {
        if mode != Mode::Run || (*task).has_flags(TaskFlags::CANCELLED) {
            return run_nothing::<F, T>(task, mode);
        }
        let f = record::take::<F>(task);
        match user_code::body(f) {
            Ok(value) => {
                record::put(task, value);
                if std::mem::needs_drop::<T>() { Ended::Returned } else { Ended::ReturnedPlain }
            }
            Err(payload) => panicked(task, payload),
        }
    }
}

/// `run` of a closure's record where the closure is not called: the task was cancelled before it
/// began, or something of it is to be dropped. (One function, so that `run_closure` ends by calling
/// it and needs no frame.)
///
/// # Safety
/// As for [`run_closure`].
#[cold]
#[inline(never)]
unsafe fn run_nothing<F, T>(task: *mut Header, mode: Mode) -> Ended
where
    F: FnOnce() -> T,
{
    // SAFETY: `task` is the caller's, and `mode` says what its payload is (this function's
    // contract): the closure, which is dropped once; or the outcome.
    unsafe {
        match mode {
            Mode::Run => return never_start::<F>(task),
            Mode::DropUnstarted => record::drop_in_place::<F>(task),
            Mode::DropOutcome => drop_outcome::<T>(task),
        }
    }
    Ended::BySelf
}

/// Puts the payload of its panic into a task's record. (Apart, so that a task that ends well saves
/// no registers for this.)
///
/// # Safety
/// `task` is the caller's, with a class for a payload of a panic, and its closure has been taken.
#[cold]
#[inline(never)]
unsafe fn panicked(task: *mut Header, mut payload: Payload) -> Ended {
    cancel::end_cancellation(&mut payload);
    // SAFETY: the closure has been taken (this function's contract), so the payload is empty, and
    // each class has room for a panic's.
    unsafe { record::put::<Payload>(task, payload) };
    Ended::Panicked
}

/// A task that was cancelled before it began: drops the closure.
///
/// # Safety
/// `task` is the caller's, and its closure, an `F`, is in the record.
unsafe fn never_start<F>(task: *mut Header) -> Ended {
    // SAFETY: the closure is in the record (this function's contract) until it is dropped here,
    // once; then the payload is empty. The destructor is the task's own code: its panic is the
    // task's.
    unsafe {
        let dropped = user_code::call(|| record::drop_in_place::<F>(task));
        record::put::<Payload>(task, dropped.err().unwrap_or_else(cancel::cancellation));
    }
    Ended::Panicked
}

/// Drops a result or a payload in place.
///
/// # Safety
/// `task` has ended, is the caller's, and its outcome (a `T` if it has returned) is still in the
/// record.
#[cold]
pub(crate) unsafe fn drop_outcome<T>(task: *mut Header) {
    // SAFETY: the outcome is still in the record (this function's contract), and says what the
    // payload is.
    unsafe {
        match (*task).outcome() {
            Outcome::Returned => {
                if hints::ON && hints::is_unrun::<T>() {
                    hints::result_unrun((*task).location(), || Pool::of((*task).runtime()).says_hints());
                }
                record::drop_in_place::<T>(task);
            }
            Outcome::Panicked => record::drop_in_place::<Payload>(task),
            Outcome::Dropped | Outcome::Left => {}
        }
    }
}
