//! How a task begins from the loop, and what is done when it has ended: outcome, waiter, memory.

use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header};
use crate::record::held::{Ending, Finished, Untyped};
use crate::record::position;
use crate::record::task::Runnable;
use crate::sched::waker::wake_waiter_as;
use crate::sched::worker::{BUDGET, Role};
use crate::sched::{cancel, context, finish, lifecycle, unhandled};
use myriad_base::sys::atomic::Ordering::Relaxed;

/// As [`start`].
#[inline(always)]
pub(super) fn start_in<const MEASURED: bool>(w: Role, task: Runnable) -> Role {
    if MEASURED {
        w.pool.latency.iter().for_each(|latency| latency.begins(task.address()));
    }
    start(w, task)
}

/// Starts what was taken out of a queue, if anything was.
pub(super) fn start_taken(w: Role, task: Option<Runnable>) -> (Role, bool) {
    match task {
        Some(task) if w.pool.latency.is_some() => (start_in::<true>(w, task), true),
        Some(task) => (start(w, task), true),
        None => (w, false),
    }
}

impl Role {
    /// Runs a task, which is what the worker [runs](crate::sched::worker::Worker::running): its
    /// body is user code, so the role is read anew.
    #[inline(always)]
    pub(crate) fn run(self, task: Runnable) -> (Role, Ended) {
        let ended = lifecycle::begin(task);
        (self.refresh(), ended)
    }
}

/// Runs a task from the loop, to its end or until it blocks (then another stack goes on with the
/// loop).
#[inline(always)]
pub(crate) fn start(w: Role, task: Runnable) -> Role {
    let record = task.address();
    w.running.set(CurrentTask::of_task(record));
    w.budget.set(BUDGET);
    w.awaits.store(position::RUNS, Relaxed);
    w.counters.begun.add(1);
    let (mut w, mut ended) = w.run(task);
    // What completes itself has ended its context before.
    if ended == Ended::BySelf {
        w.counters.polls.add(1);
        // (A poll that has blocked goes on with the greater budget of a closure.)
        w.counters.budget_left.add(w.budget.get().min(BUDGET).into());
        w.running.set(CurrentTask::NOTHING);
        w.end_leases();
        return w;
    }
    if w.running.has_context() {
        (w, ended) = context::end_then(w, ended);
    }
    w.running.set(CurrentTask::NOTHING);
    // SAFETY: the task has run to its end on this stack, just now, and says how.
    unsafe { complete(w, record, ended) }
}

/// After a task has run to its end: outcome, waiter, memory. Nothing runs on the worker any more:
/// the record may be another task's as soon as the end can be seen.
///
/// # Safety
/// The caller has run the task to its end, and `ended` says how it ended.
#[inline(always)]
pub(crate) unsafe fn complete(w: Role, task: *mut Header, ended: Ended) -> Role {
    // SAFETY: the task has run to its end (this function's contract): until that is said the record
    // is ours.
    let ending = unsafe {
        (*task).set_outcome(lifecycle::outcome_of(ended));
        lifecycle::end_by_runner(task)
    };
    match ending {
        Ending::Held => w,
        Ending::Detached(task) if ended == Ended::ReturnedPlain => match task.into_value() {
            // (What it has returned is forgotten: it has no destructor.)
            Ok((_, record)) => {
                finish::free(Some(&w), record);
                w
            }
            Err(task) => end_detached(w, task, ended),
        },
        Ending::Detached(task) => end_detached(w, task, ended),
        Ending::Awaited(waiter) => wake_waiter_as(w, waiter),
    }
}

#[inline(never)]
fn end_detached(w: Role, finished: Finished<Untyped>, ended: Ended) -> Role {
    let task = finished.task_ref();
    // What is left is the task's own code: its destructors run as the task, which is cancelled no
    // more.
    w.running.set(CurrentTask::of_task(task.as_ptr()));
    // (The exchange in `complete` has said that it has ended.)
    task.drops_yet();
    cancel::keep_off_for_good(task.header());
    let w = if ended == Ended::Panicked { unhandled::report(Some(w), &finished) } else { Some(w) };
    finish::drop_own_outcome(w.expect("a worker stays one"), finished)
}
