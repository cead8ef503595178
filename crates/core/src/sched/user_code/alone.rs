//! User code where no task runs: it gets a task for as long as it lasts.
//!
//! The task's record stands in this frame, like that of a closure of [`join`](crate::join), but
//! nobody waits for it and it is in no queue. The code may do whatever a task may do, and is found
//! by a cancellation of what it enters itself: it has a frame in the worker's list, a place to
//! wait, cancel scopes and task-locals of its own.
//!
//! **Rejected.** To count all such code as the thread's (as it was): in fiber mode several pieces
//! are under way on one thread, and their cancel scopes, which are kept in the order of a stack,
//! were left in another order: a use after free. To spawn a task for each: a waker would come late
//! by a turn of the loop, and each foreign wake would cost a record and a queue.

use crate::record::create;
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Mode};
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::context;
use crate::sched::unwind::{self, Payload};
use crate::sched::worker::Role;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::null;
use std::sync::atomic::Ordering::Relaxed;

/// A record in a frame, with the word behind the header that such records have.
#[repr(C)]
struct Record {
    header: MaybeUninit<Header>,
    _context: MaybeUninit<*mut ()>,
}

// The record is known by its header's address; the word behind it, by where that ends
// (`context::inherit`).
const _: () = {
    assert!(std::mem::offset_of!(Record, header) == 0);
    assert!(std::mem::offset_of!(Record, _context) == size_of::<Header>());
};

/// Runs `f` as a task of its own, on top of the loop.
#[track_caller]
pub(super) fn call<R>(w: Role, f: impl FnOnce() -> R) -> (Role, Result<R, Payload>) {
    let (mut f, mut result) = (Some(f), None);
    let (w, ended) = call_erased(w, &mut || result = f.take().map(|f| f()));
    (w, ended.map(|()| result.expect("the code has ended")))
}

/// Runs code of any type as a task of its own: compiled once.
#[cold]
#[inline(never)]
#[track_caller]
fn call_erased(w: Role, f: &mut dyn FnMut()) -> (Role, Result<(), Payload>) {
    let mut record = Record { header: MaybeUninit::uninit(), _context: MaybeUninit::uninit() };
    let task: *mut Header = (&raw mut record).cast();
    // SAFETY: memory of this frame, which nobody else knows; the position says that the task runs.
    unsafe {
        create::write_stack_header(task, never_run, w.stack_kind_word, Location::caller());
        create::write_unclaimed(task);
    }
    w.running.set(CurrentTask::of_task(task));
    count(&w, 1);
    // SAFETY: the role is ours, and the task has begun on it. The record stands until `with` has
    // returned, and what is called does not unwind.
    let (mut w, result) = unsafe { ScopedTasks::with(w, task, null(), || unwind::catch(f).map_err(super::settled)) };
    if w.running.has_context() {
        w = context::end(w);
    }
    // Who asks what this worker runs must not look into the frame any more.
    w.forget_frame();
    count(&w, -1);
    (w, result)
}

/// One more, or one less, is under way.
fn count(w: &Role, by: isize) {
    // Relaxed, and no exchange: it is written by who has the role, and asked for while the worker
    // sleeps or has ended.
    w.alone.store(w.alone.load(Relaxed) + by, Relaxed);
}

unsafe fn never_run(_: *mut Header, _: Mode) -> Ended {
    myriad_base::sys::thread::abort_with("the record of user code was found in a queue (a bug in Myriad)")
}
