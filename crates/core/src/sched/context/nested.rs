//! The second closure of `join`, where it runs on top of the first one's task: as a task of its own
//! all the same.
//!
//! Whoever runs it, its task-locals are its own, and what it leaves behind is not the caller's.
//! Usually none of this is in use: then the closure is simply called, and one test afterwards finds
//! that nothing was made. (A context that it makes there names the caller's record, for nobody has
//! said that another task runs; it ends at that test.)

use super::{end, inherit};
use crate::record::current::CurrentTask;
use crate::record::header::Header;
use crate::sched::unwind::{self, Payload};
use crate::sched::worker::{self, Role, Worker};

/// The closure of this record begins, on top of the running task. Returns what ran before.
///
/// # Safety
/// `record` is one of the caller's frame that the caller has claimed; it stands until [`finish`].
pub(crate) unsafe fn begin(w: &Worker, record: *mut Header) -> CurrentTask {
    let before = w.running.replace(CurrentTask::of_task(record));
    // SAFETY: `record` is claimed and stands (this function's contract), and the line above has
    // made it what `w` runs.
    unsafe { inherit::enter_nested(w, record) };
    before
}

/// It has ended.
pub(crate) fn finish(w: Role, before: CurrentTask) {
    let w = if w.running.has_context() { end(w) } else { w };
    w.forget_frame();
    w.running.set(before);
}

/// A closure has ended that has not begun by [`begin`], on top of a task without a context.
#[cold]
#[inline(never)]
pub(crate) fn finish_unflagged() {
    let w = worker::current().expect("on a worker");
    if w.running.has_context() {
        _ = end(w);
    }
}

/// Such a closure has panicked.
#[cold]
#[inline(never)]
pub(crate) fn panicked(payload: Payload) -> ! {
    finish_unflagged();
    unwind::resume(payload)
}
