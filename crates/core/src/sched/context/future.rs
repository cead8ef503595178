//! The context of a future, which stays with its record from one poll to the next.
//!
//! Between two polls `idx` holds minus its address, which is no position of any deque, nor the
//! place of a wait; and `run` is [`run`] below. Both are the poller's to write, and ordered with
//! the next poll by the queue and the state word, as the future itself is. During a poll the worker
//! has it, as that of any task, and `idx` says where the poll waits ([`crate::record::position`]).

use super::{Context, UnusedContext, end, enter, whole};
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Mode};
use crate::record::position::UNCLAIMED;
use crate::sched::worker::{self, Role};
use myriad_base::sys::atomic::Ordering::Relaxed;

/// Leaves the context with the future.
///
/// # Safety
/// The record is a future, without a context, and the caller's: polled by it, or not queued yet.
/// The context is its own.
pub(super) unsafe fn attach(record: *mut Header, context: UnusedContext) {
    // SAFETY: the record is the caller's, and is not queued while its poll is not over (this
    // function's contract), so `run` and `idx` are ours to write; the context is the future's own.
    unsafe {
        context.head.run.set(Some((*record).run()));
        (*record).set_run(run);
        (*record).idx().store(context.into_raw().expose_provenance().wrapping_neg(), Relaxed);
    }
}

/// Takes it back.
///
/// # Safety
/// The record is a future with a context, and the caller's: taken out of its queue, or never to be
/// polled again.
unsafe fn detach(record: *mut Header) -> UnusedContext {
    // SAFETY: the record is the caller's (this function's contract). `attach` has left the
    // context's address in `idx`, where nobody else writes between two polls, and the context
    // stands until it has ended.
    unsafe {
        let address = (*record).idx().load(Relaxed).wrapping_neg();
        let context = UnusedContext::from_raw(std::ptr::with_exposed_provenance_mut::<Context>(address));
        (*record).set_run(context.head.run.get().expect("left by `attach`"));
        (*record).idx().store(UNCLAIMED, Relaxed);
        context
    }
}

/// `run` of a future with a context.
unsafe fn run(record: *mut Header, mode: Mode) -> Ended {
    // SAFETY: whoever calls a record's `run` has the task, in the state that `mode` says; this
    // function stands in `run` only while the context is left with the record.
    unsafe {
        let context = detach(record);
        let run = (*record).run();
        if mode == Mode::Run {
            // The poll's end leaves it with the record again, or ends it. Afterwards the record is
            // perhaps not ours any more.
            enter(&worker::current().expect("polled on a worker"), context);
            return run(record, mode);
        }
        // Never to be polled (again): dropped by a shutdown, on whatever thread.
        let ended = run(record, mode);
        context.end(worker::current());
        ended
    }
}

/// The worker that polls. A poll in which the process was forked ends, in the child, on a thread
/// that is no worker any more: there is nothing to go on with, and the process says so.
#[inline(always)]
fn here() -> Role {
    worker::current().unwrap_or_else(|| crate::sched::fork::end_of_child())
}

/// The poll ends: its worker runs the bare record from here on, for the next poll may be over
/// before it says anything else. Without a context the record gets the note of what the future
/// waits for.
///
/// # Safety
/// The record is a future that the caller polls, on a worker.
#[inline(always)]
pub(crate) unsafe fn pause(record: *mut Header) {
    let w = here();
    // SAFETY: this poll is the caller's (this function's contract), so the record is its own
    // until the poll has ended.
    unsafe {
        if w.running.has_context() {
            leave_with(record);
        } else {
            // Relaxed: a note for dumps.
            (*record).idx().store(w.awaits.load(Relaxed), Relaxed);
        }
    }
}

/// # Safety
/// The record is a future that the caller polls, on a worker; it has a context.
#[cold]
#[inline(never)]
unsafe fn leave_with(record: *mut Header) {
    // SAFETY: this poll is the caller's, and the future has a context (this function's contract),
    // which is the one that the worker runs. From here on the record has it.
    unsafe {
        let w = here();
        attach(record, UnusedContext::from_raw(whole(w.running.get())));
        w.running.set(CurrentTask::of_task(record));
    }
}

/// The future is ready: so its context ends. Its record is running.
#[inline(always)]
pub(crate) fn finish() {
    let w = here();
    if w.running.has_context() {
        _ = end(w);
    }
}
