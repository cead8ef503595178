//! The ends of a record: dropping what nobody takes, and giving the memory back.

use super::waker::wake_waiter;
use crate::record::current::CurrentTask;
use crate::record::header::{DETACHED, Header, Mode, Outcome};
use crate::record::task::Runnable;
use crate::sched::pool::Pool;
use crate::sched::worker::{self, Role, Worker};
use crate::sched::{context, lifecycle, unwind, user_code};
use myriad_base::sys::say::say;

/// Frees a record whose payload is gone.
///
/// # Safety
/// Nobody else uses the record, and its payload has been taken or dropped.
#[inline(always)]
pub(crate) unsafe fn free(w: Option<&Worker>, task: *mut Header) {
    // SAFETY: nobody else uses the record.
    unsafe {
        if (*task).is_known() {
            Pool::of((*task).runtime).forget(task);
        }
        worker::free_record(w, task);
    }
}

/// Drops the outcome of a task whose handle is gone, and frees its record. The destructors are the
/// caller's code.
///
/// # Safety
/// The task has ended; nobody else uses the record.
pub(crate) unsafe fn drop_outcome(w: Option<Role>, task: *mut Header) -> Option<Role> {
    // SAFETY: the task has ended, and the record is the caller's alone, as this function's contract
    // says.
    unsafe { drop_outcome_as(w, task, |w| w) }
}

/// What was left of a task has run as the task: destructors, a hook. If these have made
/// task-locals, those end here. Afterwards nothing runs on the worker.
pub(crate) fn leave_task(w: Role) -> Role {
    let w = if w.running.has_context() { context::end(w) } else { w };
    w.running.set(CurrentTask::NOTHING);
    w
}

/// Drops the outcome of a task whose destructors run as the task, on a worker.
///
/// # Safety
/// The task has ended, nobody else uses its record, and it is what the worker `w` runs.
pub(crate) unsafe fn drop_own_outcome(w: Role, task: *mut Header) -> Role {
    // SAFETY: the task has ended, and the record is the caller's alone: the contract of
    // `drop_outcome`.
    unsafe { drop_outcome_as(Some(w), task, |w| w.map(leave_task)) }.expect("a worker stays one")
}

/// Drops an outcome; `before_free` is called between the destructor and the end of the record.
///
/// # Safety
/// The task has ended, and nobody else uses its record. `w` is the calling thread's role.
unsafe fn drop_outcome_as(
    w: Option<Role>,
    task: *mut Header,
    before_free: impl FnOnce(Option<Role>) -> Option<Role>,
) -> Option<Role> {
    // SAFETY: the task has ended, and its outcome is in the record, which nobody else uses. The
    // role is that of the calling thread after the destructor.
    unsafe {
        if (*task).outcome.get() == Outcome::Left {
            Pool::of((*task).runtime).forget_left();
            return w;
        }
        let (w, dropped) = user_code::call_as(w, || _ = ((*task).run.get())(task, Mode::DropOutcome));
        let w = match dropped {
            Ok(()) => w,
            Err(payload) => {
                let place = (*task).place;
                say!("myriad: the result of a detached task (spawned at {place}) panicked while it was dropped");
                unwind::discard_as(w, payload)
            }
        };
        let w = before_free(w);
        free(w.as_deref(), task);
        w
    }
}

/// A task that never starts, because its runtime has been shut down: drops what is in it and tells
/// its joiner.
pub(crate) fn drop_unstarted(task: Runnable) {
    let task = task.into_raw();
    // SAFETY: the task was a `Runnable`, so nobody else runs it, and what is in it is dropped once.
    // After `complete` the record is ours only if it was detached.
    unsafe {
        if let Err(payload) = user_code::call(|| _ = ((*task).run.get())(task, Mode::DropUnstarted)) {
            unwind::discard(payload);
            say!("myriad: a task dropped at shutdown (spawned at {}) panicked in its destructor", (*task).place);
        }
        let waiter = lifecycle::end(task, Outcome::Dropped);
        if waiter == DETACHED {
            free(worker::current().as_deref(), task);
        } else if !waiter.is_null() {
            _ = wake_waiter(worker::current(), waiter);
        }
    }
}
