//! The ends of a record: dropping what nobody takes, and giving the memory back.

use super::waker::wake_waiter;
use crate::record::current::CurrentTask;
use crate::record::header::Outcome;
use crate::record::held::{Emptied, Ending, Finished, Untyped};
use crate::record::memory;
use crate::record::task::{Runnable, TaskRef};
use crate::sched::pool::Pool;
use crate::sched::worker::{self, Role, Worker};
use crate::sched::{calls, context, lifecycle, unwind, user_code};
use myriad_base::sys::say::say;

/// Frees a record whose payload is gone.
#[inline(always)]
pub(crate) fn free(w: Option<&Worker>, record: Emptied) {
    let task = record.task_ref();
    if task.is_known() {
        forget(task);
    }
    free_record(w, record);
}

/// Frees a record's memory, on whatever thread. `worker` is the calling thread's.
#[inline(always)]
pub(crate) fn free_record(worker: Option<&Worker>, record: Emptied) {
    let task = record.task_ref();
    let class = task.kind().class();
    // SAFETY: the record came from an `alloc` of this class, which its `kind` says, and is used no
    // more (`Emptied`). Who has a `&Worker` has the worker's role.
    unsafe {
        match worker {
            Some(worker) => worker.memory.dealloc(task.as_ptr().cast(), class),
            None => memory::global_free_list().dealloc(task.as_ptr().cast(), class),
        }
    }
}

/// What the tables of the pool have of a task goes.
#[cold]
#[inline(never)]
fn forget(task: TaskRef<'_>) {
    let property = Pool::of_task(task).forget(task.as_ptr());
    // Its destructor is user code, and this is in the middle of all kinds of things.
    property.filter(|property| property.drops).into_iter().for_each(calls::drop_property_elsewhere);
}

/// Drops the outcome of a task whose handle is gone, and frees its record. The destructors are the
/// caller's code.
pub(crate) fn drop_outcome(w: Option<Role>, task: Finished<Untyped>) -> Option<Role> {
    drop_outcome_as(w, task, |w| w)
}

/// What was left of a task has run as the task: destructors, a hook. If these have made
/// task-locals, those end here. Afterwards nothing runs on the worker.
pub(crate) fn leave_task(w: Role) -> Role {
    let w = if w.running.has_context() { context::end(w) } else { w };
    w.running.set(CurrentTask::NOTHING);
    w
}

/// Drops the outcome of a task whose destructors run as the task, on a worker, which runs it.
pub(crate) fn drop_own_outcome(w: Role, task: Finished<Untyped>) -> Role {
    drop_outcome_as(Some(w), task, |w| w.map(leave_task)).expect("a worker stays one")
}

/// Drops an outcome; `before_free` is called between the destructor and the end of the record.
fn drop_outcome_as(
    w: Option<Role>,
    task: Finished<Untyped>,
    before_free: impl FnOnce(Option<Role>) -> Option<Role>,
) -> Option<Role> {
    if task.outcome() == Outcome::Left {
        Pool::of_task(task.task_ref()).forget_left();
        return w;
    }
    let location = task.task_ref().location();
    let ((w, dropped), record) = task.drop_outcome(|drop| user_code::call_as(w, drop));
    let w = match dropped {
        Ok(()) => w,
        Err(payload) => {
            say!("myriad: the result of a detached task (spawned at {location}) panicked while it was dropped");
            unwind::discard_as(w, payload)
        }
    };
    let w = before_free(w);
    if let Some(record) = record {
        free(w.as_deref(), record);
    }
    w
}

/// A task that never starts, because its runtime has been shut down: drops what is in it and tells
/// its joiner.
pub(crate) fn drop_unstarted(task: Runnable) {
    let (record, location) = (task.address(), task.header().location());
    if let Err(payload) = user_code::call(|| task.drop_payload()) {
        unwind::discard(payload);
        say!("myriad: a task dropped at shutdown (spawned at {location}) panicked in its destructor");
    }
    // SAFETY: the task was a `Runnable`, so nobody else runs it, and its payload is gone.
    let ending = unsafe { lifecycle::end(record, Outcome::Dropped) };
    match ending {
        Ending::Detached(task) => {
            if let Ok(Some(record)) = task.into_nothing() {
                free(worker::current().as_deref(), record);
            }
        }
        Ending::Awaited(waiter) => _ = wake_waiter(worker::current(), waiter),
        Ending::Held => {}
    }
}
