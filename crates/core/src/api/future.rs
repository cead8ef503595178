//! Futures as tasks.
//!
//! The record holds the future in place; each poll is a run of the record from a queue. A woken
//! future goes to the deque of the worker that woke it, as the newest task: it may be stolen like
//! any other, also by force, so a worker that computes never holds up a future. One that wakes
//! itself (a yield, a spent budget) goes behind all others.

use super::builder::Builder;
use super::handle::JoinHandle;
use super::portable::Portable;
use super::spawn;
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Kind, Marks, Mode, Outcome};
use crate::record::held::HeldTask;
use crate::record::task::{NewFuture, Runnable};
use crate::record::{create, payload as record, state};
use crate::sched::context::{self, inherit};
use crate::sched::pool::Handle;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code;
use crate::sched::worker::{self, Role};
use crate::sched::{cancel, run_loop, waker};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::mutant::fault;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Starts a task that drives a future, and returns a handle to its output.
///
/// Like [`spawn`](crate::spawn) otherwise. The future is polled on the workers' stacks and may move
/// between workers at each await; waiting, it costs its own size and a record, no stack. It may
/// also *block*, as a closure does: then the stack it is polled on is set aside until that poll
/// goes on.
///
/// # Panics
/// A panic in a poll ends the task and reaches its joiner.
///
/// # Examples
/// ```
/// let h = myriad::spawn_async(async { 6 * 7 });
/// assert_eq!(h.join().unwrap(), 42);
/// ```
#[inline]
#[track_caller]
pub fn spawn_async<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match worker::current() {
        Some(w) => spawn_here(w, Portable::future(future), Location::caller()),
        None => spawn_from_outside(Portable::future(future), Location::caller()),
    }
}

/// Where a future is queued when it is woken. Known at its spawn, so nobody asks when it is woken.
pub(super) trait Queued {
    /// The waker for a poll.
    ///
    /// # Safety
    /// `task` is the record of a live future.
    unsafe fn waker(task: *mut Header) -> Waker;

    /// Queues it: it was woken while it was polled, most often by itself.
    ///
    /// # Safety
    /// On a worker; `task` is the record of a live future in no queue, and the caller's to queue.
    unsafe fn again(task: *mut Header);
}

/// On whoever wakes it; behind all others, if it woke itself.
pub(super) struct Anywhere;

impl Queued for Anywhere {
    #[inline(always)]
    unsafe fn waker(task: *mut Header) -> Waker {
        // SAFETY: `task` is a live future (the trait's contract).
        unsafe { waker::waker_of(task) }
    }

    #[inline(always)]
    unsafe fn again(task: *mut Header) {
        // SAFETY: `task` is a live future in no queue, and ours to queue (the trait's contract).
        let task = unsafe { Runnable::from_raw(task) };
        worker::current().expect("polled on a worker").push_last(task);
    }
}

/// A future on the calling worker.
#[inline(always)]
fn spawn_here<F: Future>(w: Role, future: Portable<F>, place: &'static Location<'static>) -> JoinHandle<F::Output> {
    let task = w.memory.alloc(const { record::class::<F, F::Output>() }).cast::<Header>();
    // SAFETY: fresh memory of the right class, which nobody else knows.
    let task = unsafe { write_future::<F, Anywhere>(task, future, w.number, place) };
    let task = if w.has_contexts() { inherit::future(Some(&w), task, None) } else { task.into() };
    let record = task.address();
    w.push_future(task.into());
    // SAFETY: the record is that of `future`, whose output is an `F::Output`, and has no other
    // handle.
    JoinHandle::new(unsafe { HeldTask::from_raw(record) })
}

/// A future into the global runtime, from a thread that is no worker.
#[inline(always)]
fn spawn_from_outside<F: Future>(future: Portable<F>, place: &'static Location<'static>) -> JoinHandle<F::Output> {
    let home = spawn::global_home();
    let task = foreign_future::<F, Anywhere>(future, spawn::number_of(&home), place);
    let (home, task) = spawn::or_refuse(home, task);
    // SAFETY: the record is that of `future`, whose output is an `F::Output`, and has no other
    // handle.
    JoinHandle::new(unsafe { HeldTask::from_raw(inject(home, task, Builder::new())) })
}

/// A future into this pool, from wherever, with what the builder says.
#[inline(always)] // As that of closures.
pub(super) fn spawn_with<F: Future, Q: Queued>(
    home: Handle,
    future: Portable<F>,
    place: &'static Location<'static>,
    with: Builder,
) -> JoinHandle<F::Output> {
    let task = foreign_future::<F, Q>(future, home.inner().number, place);
    // SAFETY: the record is that of `future`, whose output is an `F::Output`, and has no other
    // handle.
    JoinHandle::new(unsafe { HeldTask::from_raw(inject(home, task, with)) })
}

/// Queues a future of the pool of `home`, with what the builder says. Returns its record.
#[cold]
#[inline(never)]
fn inject(home: Handle, task: NewFuture, with: Builder) -> *mut Header {
    let (w, lane) = (worker::current(), with.class().lane());
    let task = with.equip_future(w.as_deref(), home.inner(), task);
    let record = task.address();
    match w {
        Some(w) if home.has(&w) && lane.is_none() => w.push_future(task.into()),
        _ => home.inject(lane, task),
    }
    record
}

/// A future in memory of whoever calls.
#[inline(always)]
fn foreign_future<F: Future, Q: Queued>(future: Portable<F>, pool: u8, place: &'static Location<'static>) -> NewFuture {
    let task = spawn::foreign_record(const { record::class::<F, F::Output>() });
    // SAFETY: fresh memory of the right class, which nobody else knows.
    unsafe { write_future::<F, Q>(task, future, pool, place) }
}

/// # Safety
/// `task` is fresh memory of the future's class, which nobody but the caller knows.
#[inline(always)]
unsafe fn write_future<F: Future, Q: Queued>(
    task: *mut Header,
    future: Portable<F>,
    runtime: u8,
    place: &'static Location<'static>,
) -> NewFuture {
    // SAFETY: nobody else knows `task`, which is memory of the future's class (this function's
    // contract): there is room, and the payload is empty. The future may be polled on any thread
    // (`Portable`).
    unsafe {
        let kind = const { record::kind::<F, F::Output>(Kind::FUTURE) };
        create::write_header(task, run_future::<F, Q>, kind, runtime, place);
        state::begin(&(*task).state);
        record::put(task, future.into_inner());
        NewFuture::from_raw(task)
    }
}

/// A future as a task of this runtime, from anywhere.
pub(crate) fn spawn_async_on<F>(home: Handle, future: F, place: &'static Location<'static>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match worker::current() {
        Some(w) if home.has(&w) => spawn_here(w, Portable::future(future), place),
        _ => spawn_with::<F, Anywhere>(home, Portable::future(future), place, Builder::new()),
    }
}

/// `run` of a future's record: one poll.
///
/// # Safety
/// `task` is the caller's alone, the record of an `F`, and in the state that `mode` says
/// ([`Run`](crate::record::header::Run)).
unsafe fn run_future<F: Future, Q: Queued>(task: *mut Header, mode: Mode) -> Ended {
    // SAFETY: `task` is the caller's, and `mode` says what its payload is (this function's
    // contract): the future, or the outcome.
    unsafe {
        match mode {
            Mode::Run => poll::<F, Q>(task),
            Mode::DropUnstarted => {
                state::end(&(*task).state);
                record::drop_in_place::<F>(task);
                Ended::BySelf
            }
            Mode::DropOutcome => {
                spawn::drop_outcome::<F::Output>(task);
                Ended::BySelf
            }
        }
    }
}

/// # Safety
/// `task` was taken out of a queue, or is claimed, so nobody else polls it. Its payload is an `F`.
#[inline(always)]
unsafe fn poll<F: Future, Q: Queued>(task: *mut Header) -> Ended {
    // SAFETY: nobody else polls `task`, whose payload is the future (this function's contract)
    // until the future is dropped here, once. It does not move while it is in the record, so it may
    // be pinned. From the end of a pending poll on the record is used by its atomic words alone,
    // unless that says that the task was woken meanwhile: then it is ours to queue.
    unsafe {
        let is_first = state::start_poll(&(*task).state);
        if (*task).marks.load(Relaxed) & Marks::CANCELLED != 0 {
            return cancelled::<F>(task);
        }
        let waker = Q::waker(task);
        let future = Pin::new_unchecked(&mut *record::get::<F>(task));
        let polled = user_code::body(|| future.poll(&mut Context::from_waker(&waker)));
        match polled {
            Ok(Poll::Pending) => {
                context::pause_future(task);
                // (References to the two words alone: the future may be another worker's before
                // this is over.)
                let woken = if is_first {
                    state::end_first_poll(&(*task).state, &(*task).marks, Marks::CANCELLED)
                } else {
                    state::end_poll(&(*task).state)
                };
                if woken {
                    // While it ran, most often by itself.
                    Q::again(task);
                }
                return Ended::BySelf;
            }
            Ok(Poll::Ready(value)) => {
                // No wake counts any more; the next use of the memory has another generation.
                state::end(&(*task).state);
                // Not through the door: that costs 145 instructions more than the 517 of a spawn
                // and a join, and nothing is held here but the output. The destructor is the end
                // of the task's own code, so a cancellation is meant for it too.
                match user_code::body(|| record::drop_in_place::<F>(task)) {
                    Ok(()) => {
                        record::put(task, value);
                        (*task).outcome.set(Outcome::Returned);
                    }
                    Err(payload) => {
                        // Here, where a panic of the output's destructor ends, too.
                        unwind::drop_quietly(value);
                        set_panicked(task, payload);
                    }
                }
            }
            Err(payload) => {
                state::end(&(*task).state);
                // A second panic, of the destructor, gives way to the first.
                if let Err(second) = drop_future::<F>(task) {
                    unwind::discard(second);
                }
                set_panicked(task, payload);
            }
        }
        end::<F>(task)
    }
}

/// Drops a future that has panicked, or is cancelled: its destructor may block in peace.
///
/// # Safety
/// The caller polls `task`, alone. Its payload is an `F`, and is empty afterwards.
#[cold]
#[inline(never)]
unsafe fn drop_future<F>(task: *mut Header) -> Result<(), Payload> {
    if !std::mem::needs_drop::<F>() {
        return Ok(());
    }
    // SAFETY: the caller polls `task`, whose payload is an `F` that is dropped here, once (this
    // function's contract).
    user_code::call(|| unsafe { record::drop_in_place::<F>(task) })
}

/// The task is cancelled: drops the future instead of polling it.
///
/// # Safety
/// `task` was taken out of a queue, or is claimed, so nobody else polls it. Its payload is an `F`.
#[cold]
#[inline(never)]
unsafe fn cancelled<F: Future>(task: *mut Header) -> Ended {
    // SAFETY: nobody else polls `task`, whose payload is the future (this function's contract)
    // until it is dropped here, once; then the payload is empty. The destructor is the task's own
    // code: its panic is the task's.
    unsafe {
        state::end(&(*task).state);
        let dropped = drop_future::<F>(task);
        set_panicked(task, dropped.err().unwrap_or_else(cancel::cancellation));
        end::<F>(task)
    }
}

/// After the last poll: the outcome is written.
///
/// # Safety
/// The caller polls `task`, alone. `outcome` is written, and the payload is what it says: the
/// output, or that of a panic.
#[inline(always)]
unsafe fn end<F: Future>(task: *mut Header) -> Ended {
    // SAFETY: the caller polls `task`, and has written its outcome (this function's contract).
    // After `complete` the record is not touched.
    unsafe {
        context::finish_future();
        let ended = match (*task).outcome.get() {
            Outcome::Returned if std::mem::needs_drop::<F::Output>() => Ended::Returned,
            Outcome::Returned => Ended::ReturnedPlain,
            _ => Ended::Panicked,
        };
        let w = worker::current().expect("polled on a worker");
        // From here on the record may be another task's: what runs until the loop goes on, a waker
        // say, does not run as this one.
        if !fault("future-runs-on") {
            w.running.set(CurrentTask::NOTHING);
        }
        _ = run_loop::complete(w, task, ended);
        Ended::BySelf
    }
}

/// # Safety
/// `task` is the caller's, and its payload is empty.
#[cold]
unsafe fn set_panicked(task: *mut Header, mut payload: Payload) {
    cancel::end_cancellation(&mut payload);
    // SAFETY: `task` is the caller's, and its payload is empty (this function's contract); each
    // class has room for a panic's payload.
    unsafe {
        record::put::<Payload>(task, payload);
        (*task).outcome.set(Outcome::Panicked);
    }
}
