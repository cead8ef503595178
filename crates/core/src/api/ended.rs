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
use crate::record::header::{Kind, Outcome};
use crate::record::held::{Finished, Untyped};
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

/// Drops an outcome and frees its record; a panic in it is reported. `w` is the calling thread's
/// role.
pub(super) fn drop_ended(w: Option<Role>, task: Finished<Untyped>) {
    let first = FIRST.get();
    let is_deep = w.as_ref().map_or_else(|| first != 0 && first.abs_diff(stack_pointer()) > MOST, |w| !w.has_room());
    if is_deep && !task.task_ref().kind().has(Kind::SCOPED) {
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

fn drop_here(mut w: Option<Role>, task: Finished<Untyped>) {
    if task.outcome() == Outcome::Panicked {
        w = unhandled::report(w, &task);
    }
    _ = finish::drop_outcome(w, task);
}

/// An outcome on its way to another stack: of a task that is not scoped, so it borrows nothing.
struct LastHandle(Option<Finished<Untyped>>);

// SAFETY: the outcome is `Send`, as that of every task that a `JoinHandle` of may be sent; nobody
// else uses the record.
unsafe impl Send for LastHandle {}

impl Drop for LastHandle {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            drop_ended(worker::current(), task);
        }
    }
}

/// Has the outcome dropped elsewhere. The task is not scoped.
#[cold]
#[inline(never)]
fn hand_on(w: Option<Role>, task: Finished<Untyped>) {
    match w {
        Some(w) => {
            let location = task.task_ref().location();
            let ended = LastHandle(Some(task));
            drop(spawn::spawn_here(w, Portable::closure(move || drop(ended)), Kind::CLOSURE, location));
        }
        None => {
            unsafe fn drop_it(task: *mut ()) {
                // SAFETY: the job is run once, and its data is a `Finished`, below.
                drop(LastHandle(Some(unsafe { Finished::from_raw(task.cast()) })));
            }
            let task = task.task_ref().as_ptr();
            if BLOCKING.submit(CallJob { run: drop_it, data: task.cast() }).is_err() {
                // (Deeper, then.)
                // SAFETY: the job came back, so nobody else uses the record.
                drop_here(None, unsafe { Finished::from_raw(task) });
            }
        }
    }
}
