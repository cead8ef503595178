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
use crate::record::create::{Blank, NewFuture, OneTask};
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Mode, TaskFlags};
use crate::record::held::HeldTask;
use crate::record::task::{HeapRecord, Runnable};
use crate::record::{payload as record, state};
use crate::sched::context;
use crate::sched::pool::Handle;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code;
use crate::sched::worker::{self, Role};
use crate::sched::{cancel, run_loop, waker};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::mutant::fault;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Starts a task that drives a future, and returns a handle to its output.
///
/// Like [`spawn`](crate::spawn) otherwise. The future is polled on the workers' stacks and may move
/// between workers at each `.await`. While the future waits, it takes its own size and a record,
/// and no stack. A future may also *block*, as a closure does: then it keeps the stack on which it
/// is polled until that poll goes on. (In debug builds a hint names the place.)
///
/// # Panics
/// A panic in a poll ends the task and reaches its joiner.
///
/// # Examples
/// ```
/// let h = myriad::spawn_async(async { 6 * 7 });
/// assert_eq!(h.join().unwrap(), 42);
/// ```
#[doc(alias = "spawn_local")]
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
    /// The waker for a poll of the future in this record.
    fn waker(task: HeapRecord) -> Waker;

    /// Queues it: it was woken while it was polled, most often by itself. On a worker.
    fn again(task: Runnable);
}

/// On whoever wakes it; behind all others, if it woke itself.
pub(super) struct Anywhere;

impl Queued for Anywhere {
    #[inline(always)]
    fn waker(task: HeapRecord) -> Waker {
        waker::waker_of(task)
    }

    #[inline(always)]
    fn again(task: Runnable) {
        worker::current().expect("polled on a worker").push_yielded(task);
    }
}

/// A future on the calling worker.
#[inline(always)]
fn spawn_here<F: Future>(w: Role, future: Portable<F>, location: &'static Location<'static>) -> JoinHandle<F::Output> {
    let task = create::<F, Anywhere>(Blank::of(&w.memory), future, w.number, location);
    JoinHandle::new(w.push_new_future(task))
}

/// A future into the global runtime, from a thread that is no worker.
#[inline(always)]
fn spawn_from_outside<F: Future>(future: Portable<F>, location: &'static Location<'static>) -> JoinHandle<F::Output> {
    let home = spawn::global_home();
    let task = create::<F, Anywhere>(spawn::blank(), future, spawn::number_of(&home), location);
    JoinHandle::new(task.through(|task| {
        let (home, task) = spawn::or_refuse(home, task);
        inject(home, task, Builder::new())
    }))
}

/// A future into this pool, from wherever, with what the builder says.
#[inline(always)] // As that of closures.
pub(super) fn spawn_with<F: Future, Q: Queued>(
    home: Handle,
    future: Portable<F>,
    location: &'static Location<'static>,
    with: Builder,
) -> JoinHandle<F::Output> {
    let task = create::<F, Q>(spawn::blank(), future, home.inner().number, location);
    JoinHandle::new(task.through(|task| inject(home, task, with)))
}

/// Queues a future of the pool of `home`, with what the builder says.
#[cold]
#[inline(never)]
fn inject<'a>(home: Handle, task: NewFuture<OneTask<'a>>, with: Builder) -> HeldTask<OneTask<'a>> {
    let (w, queue, place) = (worker::current(), with.class().queue(), with.worker());
    let task = with.equip_future(w.as_deref(), home.inner(), task);
    if let Some(worker) = place {
        return home.pin(task, worker);
    }
    match w {
        Some(w) if home.has(&w) && queue.is_none() => {
            let (task, held) = task.into_parts();
            w.push_future(task);
            held
        }
        _ => home.inject(queue, task),
    }
}

/// A future as a task of the runtime of this number. In no queue yet.
#[inline(always)]
fn create<F: Future, Q: Queued>(
    blank: Blank<F, F::Output>,
    future: Portable<F>,
    runtime: u8,
    location: &'static Location<'static>,
) -> NewFuture<F::Output> {
    // SAFETY: `run_future` is the function of such records. The future and its output may be used
    // on any thread, and what they borrow outlives the task (`Portable`).
    unsafe { blank.future(run_future::<F, Q>, runtime, future.into_inner(), location) }
}

/// A future as a task of this runtime, from anywhere.
pub(crate) fn spawn_async_on<F>(home: Handle, future: F, location: &'static Location<'static>) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match worker::current() {
        Some(w) if home.has(&w) => spawn_here(w, Portable::future(future), location),
        _ => spawn_with::<F, Anywhere>(home, Portable::future(future), location, Builder::new()),
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
            Mode::Run => poll::<F, Q>(Polled::from_raw(task)),
            Mode::DropUnstarted => {
                state::end((*task).state());
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

/// A future that is being polled.
///
/// **Invariant.** Nobody else polls it, and its payload is an `F`, which does not move.
#[repr(transparent)]
struct Polled<F>(*mut Header, PhantomData<F>);

/// A future that is over, and whose task has not ended.
///
/// **Invariant.** Nobody else polls it, and its payload, that of an `F`, is empty.
#[repr(transparent)]
struct Over<F>(*mut Header, PhantomData<F>);

impl<F: Future> Polled<F> {
    /// # Safety
    /// `task` was taken out of a queue, or is claimed, so nobody else polls it. Its payload is an
    /// `F`.
    #[inline(always)]
    unsafe fn from_raw(task: *mut Header) -> Polled<F> {
        Polled(task, PhantomData)
    }

    /// Its record.
    #[inline(always)]
    fn record(&self) -> HeapRecord {
        // SAFETY: futures are in memory for records.
        unsafe { HeapRecord::from_raw(self.0) }
    }

    /// The future.
    #[inline(always)]
    fn future(&mut self) -> Pin<&mut F> {
        // SAFETY: the payload is an `F`, and nobody else polls it (the type's invariant). It does
        // not move while it is in the record.
        unsafe { Pin::new_unchecked(&mut *record::get::<F>(self.0)) }
    }

    /// The poll said "pending". Back, if it was woken meanwhile: it is the caller's to queue.
    #[inline(always)]
    fn pause(self, is_first: bool) -> Option<Runnable> {
        let record = self.record();
        // SAFETY: this poll is the caller's (the type's invariant), and ends here. From its end on
        // the record is used by its atomic words alone, unless that says that the task was woken.
        unsafe {
            context::pause_future(self.0);
            let woken = if is_first {
                state::end_first_poll(record.state(), record.flags(), TaskFlags::CANCELLED)
            } else {
                state::end_poll(record.state())
            };
            woken.then(|| Runnable::from_raw(self.0))
        }
    }

    /// It is ready, and is dropped.
    ///
    /// Not through the door: that costs 145 instructions more than the 517 of a spawn and a join,
    /// and nothing is held here but the output. The destructor is the end of the task's own code,
    /// so a cancellation is meant for it too.
    #[inline(always)]
    fn end(self) -> (Over<F>, Result<(), Payload>) {
        // No wake counts any more; the next use of the memory has another generation.
        state::end(self.record().state());
        // SAFETY: the payload is an `F` (the type's invariant), which is dropped here, once.
        let dropped = user_code::body(|| unsafe { record::drop_in_place::<F>(self.0) });
        (Over(self.0, PhantomData), dropped)
    }

    /// It has panicked, or is cancelled, and is dropped: its destructor may block in peace.
    #[cold]
    #[inline(never)]
    fn give_up(self) -> (Over<F>, Result<(), Payload>) {
        state::end(self.record().state());
        let over = Over(self.0, PhantomData);
        if !std::mem::needs_drop::<F>() {
            return (over, Ok(()));
        }
        // SAFETY: the payload is an `F` (the type's invariant), which is dropped here, once.
        (over, user_code::call(|| unsafe { record::drop_in_place::<F>(self.0) }))
    }
}

impl<F: Future> Over<F> {
    /// The task ends with this output.
    #[inline(always)]
    fn returned(self, value: F::Output) -> Ended {
        let ended = if std::mem::needs_drop::<F::Output>() { Ended::Returned } else { Ended::ReturnedPlain };
        // SAFETY: nobody else polls it, and its payload is empty (the type's invariant); its class
        // has room for the output.
        unsafe {
            record::put(self.0, value);
            end(self.0, ended)
        }
    }

    /// The task ends with this panic, or because of a cancellation.
    #[cold]
    fn panicked(self, mut payload: Payload) -> Ended {
        cancel::end_cancellation(&mut payload);
        // SAFETY: nobody else polls it, and its payload is empty (the type's invariant); each class
        // has room for a panic's payload.
        unsafe {
            record::put::<Payload>(self.0, payload);
            end(self.0, Ended::Panicked)
        }
    }
}

#[inline(always)]
fn poll<F: Future, Q: Queued>(mut task: Polled<F>) -> Ended {
    let record = task.record();
    let is_first = state::start_poll(record.state());
    if record.flags().load(Relaxed) & TaskFlags::CANCELLED != 0 {
        return cancelled(task);
    }
    let waker = Q::waker(record);
    match user_code::body(|| task.future().poll(&mut Context::from_waker(&waker))) {
        Ok(Poll::Pending) => {
            if let Some(task) = task.pause(is_first) {
                // While it ran, most often by itself.
                Q::again(task);
            }
            Ended::BySelf
        }
        Ok(Poll::Ready(value)) => match task.end() {
            (over, Ok(())) => over.returned(value),
            (over, Err(payload)) => {
                // Here, where a panic of the output's destructor ends, too.
                unwind::drop_quietly(value);
                over.panicked(payload)
            }
        },
        Err(payload) => {
            let (over, second) = task.give_up();
            // A second panic, of the destructor, gives way to the first.
            _ = second.map_err(unwind::discard);
            over.panicked(payload)
        }
    }
}

/// The task is cancelled: drops the future instead of polling it. The destructor is the task's own
/// code: its panic is the task's.
#[cold]
#[inline(never)]
fn cancelled<F: Future>(task: Polled<F>) -> Ended {
    let panic = cancel::deadlock_of(task.record().header());
    let (over, dropped) = task.give_up();
    over.panicked(dropped.err().or(panic).unwrap_or_else(cancel::cancellation_of_future))
}

/// After the last poll.
///
/// # Safety
/// The caller polls `task`, alone. The payload is what `ended` says: the output, or that of a
/// panic.
#[inline(always)]
unsafe fn end(task: *mut Header, ended: Ended) -> Ended {
    context::finish_future();
    let w = worker::current().expect("polled on a worker");
    // From here on the record may be another task's: what runs until the loop goes on, a waker say,
    // does not run as this one.
    if !fault("future-runs-on") {
        w.running.set(CurrentTask::NOTHING);
    }
    // SAFETY: the caller polls `task`, which is over, and has left its outcome (this function's
    // contract).
    _ = unsafe { run_loop::complete(w, task, ended) };
    Ended::BySelf
}
