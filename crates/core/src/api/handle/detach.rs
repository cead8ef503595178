//! Giving a handle up: the task runs on, detached; what one has left that has ended is dropped.

use super::wait::take_back_waiter;
use super::{JoinHandle, TOO_EARLY};
use crate::api::ended;
use crate::record::held::{Finished, HeldTask, Untyped};
use crate::sched::finish;
use crate::sched::unwind::Payload;
use crate::sched::worker::{self, Role};
use myriad_base::sys::thread;

impl<T> JoinHandle<T> {
    /// Detaches the task. If it has ended, its result is dropped; the payload of its panic is the
    /// caller's.
    #[inline]
    pub(crate) fn give_up(mut self) -> Option<Payload> {
        let (w, task) = detach(self.task.take()?)?;
        match task.into_panic() {
            Ok((payload, record)) => {
                finish::free(w.as_deref(), record);
                Some(payload)
            }
            Err(task) => {
                _ = finish::drop_outcome(w, task.untyped());
                None
            }
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            let_go(task.untyped());
        }
    }
}

/// Gives up a handle. (A call: inlined it made those slower who join or await theirs, a tenth for a
/// tree of futures.)
#[inline(never)]
pub(super) fn let_go(task: HeldTask<Untyped>) {
    if let Some((w, finished)) = detach(task) {
        ended::drop_ended(w, finished);
    }
}

/// Gives up a task, which runs on, detached; or, if it has ended, hands out what it has left.
///
/// Most often the caller has just spawned it: if it is the one that was queued last, nobody looks
/// at its waiter before he has it from the queue.
#[inline(always)]
fn detach<T>(task: HeldTask<T>) -> Option<(Option<Role>, Finished<T>)> {
    let w = worker::current();
    let is_newest = |w: &Role| {
        let task = task.task_ref();
        task.is_unwatched() && w.change_newest(task, || task.detach_alone())
    };
    if w.as_ref().is_some_and(is_newest) {
        return None;
    }
    let task = task.detach().err()?;
    let (w, none_left) = take_back_waiter(w, task.awaited());
    let task = if none_left { task.detach().err()? } else { task };
    Some((w, task.finished().unwrap_or_else(|_| thread::abort_with(TOO_EARLY))))
}
