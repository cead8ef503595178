//! What a task has left at its end: its result, or an error that says how else it has ended.

use crate::api::error::JoinError;
use crate::record::header::TaskFlags;
use crate::record::held::{Finished, Untyped};
use crate::sched::finish;
use crate::sched::pool::Pool;
use crate::sched::worker::Worker;

/// Takes the result of a task that has ended, and frees its record. (As a call it takes 24
/// instructions of a `JoinSet`'s 955 for each of its tasks.)
#[inline(always)]
pub(super) fn take_result<T>(w: Option<&Worker>, task: Finished<T>) -> Result<T, JoinError> {
    match task.into_value() {
        Ok((value, record)) => {
            finish::free(w, record);
            Ok(value)
        }
        Err(task) => Err(take_error(w, task.untyped())),
    }
}

/// Of a task that has ended otherwise than by returning.
#[cold]
fn take_error(w: Option<&Worker>, task: Finished<Untyped>) -> JoinError {
    let location = task.task_ref().location();
    let pool = Pool::of_task(task.task_ref());
    // (Without a name no look at the table, which is under a lock.)
    let is_named = task.task_ref().has_flags(TaskFlags::NAMED);
    let name = is_named.then(|| pool.name_of(task.task_ref().as_ptr(), true)).flatten().map(|name| name.to_string());
    match task.into_panic() {
        Ok((payload, record)) => {
            finish::free(w, record);
            JoinError::panicked(payload, location, name)
        }
        Err(task) => match task.into_nothing() {
            Ok(Some(record)) => {
                finish::free(w, record);
                JoinError::shutdown(location, name)
            }
            _ => {
                pool.forget_left();
                JoinError::left(location, name)
            }
        },
    }
}
