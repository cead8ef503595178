//! Outcomes of tasks that have ended, where their handles are dropped.
//!
//! ```text
//!  handle ─drop─> outcome ─drop─> handle in it ─drop─> outcome ─> ...      while the stack has room
//!                                                        └─> a task, or a thread: the rest, with a stack of its own
//! ```
//! An outcome may hold the handle of another task that has ended, and so may that one's: a list as
//! long as memory. Destructors of such a list run within each other, as with std's lists of boxes.
//! There the list's own destructor can be a loop; here nobody but the engine knows the next record.
//! So where the stack has little room left the rest is given to a task of the same pool; and where
//! the caller is no worker, or keeps its thread, to a thread for blocking calls when they take
//! [`MOST`] bytes of a stack whose size is not known here.
//!
//! Results of scoped tasks stay: they may borrow, and the scope does not wait for others.

use super::portable::Portable;
use super::spawn;
use crate::record::header::{Header, Kind, Outcome};
use crate::sched::calls::{BLOCKING, CallJob};
use crate::sched::worker::{self, Role};
use crate::sched::{finish, unhandled};
use myriad_base::stack::switch::stack_pointer;
use std::cell::Cell;

/// Destructors of outcomes that run within each other have so many bytes, where no worker says how
/// much room there is. Half of what a task has at least on a fiber of the default size: it may keep
/// its thread.
const MOST: usize = 16 << 10;

thread_local! {
    /// Where the first of those that run within each other found the stack; 0: there is none. (Of
    /// one stack: nothing is set aside where no worker is.)
    static FIRST: Cell<usize> = const { Cell::new(0) };
}

/// Drops an outcome and frees its record; a panic in it is reported.
///
/// # Safety
/// The task has ended, its handle is gone, and nobody else uses the record. `w` is the calling
/// thread's role.
pub(super) unsafe fn drop_ended(w: Option<Role>, task: *mut Header) {
    let first = FIRST.get();
    let is_deep = w.as_ref().map_or_else(|| first != 0 && first.abs_diff(stack_pointer()) > MOST, |w| !w.has_room());
    // SAFETY: the task has ended, and nobody else uses the record (this function's contract).
    unsafe {
        if is_deep && !(*task).kind.has(Kind::SCOPED) {
            return hand_on(w, task);
        }
        let is_first = w.is_none() && first == 0;
        if is_first {
            FIRST.set(stack_pointer());
        }
        drop_here(w, task);
        if is_first {
            FIRST.set(0);
        }
    }
}

/// # Safety
/// As [`drop_ended`].
unsafe fn drop_here(mut w: Option<Role>, task: *mut Header) {
    // SAFETY: the task has ended, and nobody else uses the record (this function's contract).
    unsafe {
        if (*task).outcome.get() == Outcome::Panicked {
            w = unhandled::report(w, task);
        }
        _ = finish::drop_outcome(w, task);
    }
}

/// An outcome on its way to another stack.
struct LastHandle(*mut Header);

// SAFETY: the outcome is `Send`, as that of every task that a `JoinHandle` of may be sent; nobody
// else uses the record.
unsafe impl Send for LastHandle {}

impl Drop for LastHandle {
    fn drop(&mut self) {
        // SAFETY: the record came from `hand_on`, which gives its right to this alone.
        unsafe { drop_ended(worker::current(), self.0) };
    }
}

/// Has the outcome dropped elsewhere.
///
/// # Safety
/// As [`drop_ended`]; the task is not scoped, so its outcome borrows nothing.
#[cold]
#[inline(never)]
unsafe fn hand_on(w: Option<Role>, task: *mut Header) {
    let ended = LastHandle(task);
    match w {
        Some(w) => {
            // SAFETY: the record is not freed before the outcome is dropped.
            let place = unsafe { (*task).place };
            // (What it holds borrows nothing: the task is not scoped.)
            drop(spawn::spawn_here(w, Portable::closure(move || drop(ended)), Kind::CLOSURE, place));
        }
        None => {
            unsafe fn drop_it(task: *mut ()) {
                drop(LastHandle(task.cast()));
            }
            std::mem::forget(ended);
            if BLOCKING.submit(CallJob { run: drop_it, data: task.cast() }).is_err() {
                // (Deeper, then.)
                // SAFETY: the job came back, so nobody else uses the record.
                unsafe { drop_here(None, task) };
            }
        }
    }
}
