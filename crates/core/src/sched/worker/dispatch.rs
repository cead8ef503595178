//! A task that is entered at once, in place of the running one: [`dispatch`](crate::task::dispatch), `JoinHandle::yield_to`.
//!
//! The task stands in no queue meanwhile, but in a slot of the worker: no thief takes it, no policy sorts it in. The caller makes
//! its next turn one with a look at this and that (`turns_left` 0), and blocks behind the ready tasks. So the loop
//! comes by, finds the slot, and puts the number of turns back: between two tasks nothing has been asked that was not asked before.
//!
//! **Invariant.** The slot is full only between [`Worker::enter`] and the next turn of the same worker. If that is its last, the task goes
//! to the injector, where the end of the runtime finds it.

use super::Worker;
use crate::cancel::point;
use crate::sched::node::Node;
use crate::sys::atomic::Ordering::Relaxed;
use crate::task::header::Header;
use std::cell::Cell;
use std::fmt;
use std::ptr::null_mut;

/// The slot.
pub struct Entering {
    task: Cell<*mut Header>,
    /// The worker's `turns_left` before.
    turns_left: Cell<u32>,
}

impl Default for Entering {
    fn default() -> Self {
        Entering { task: Cell::new(null_mut()), turns_left: Cell::new(0) }
    }
}

impl fmt::Debug for Entering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entering").field("any", &!self.task.get().is_null()).finish_non_exhaustive()
    }
}

impl Worker {
    /// May the running task be set aside, and another one be begun here?
    pub fn may_enter(&'static self) -> bool {
        // Not in a destructor that runs because of a panic; nor on a spare that begins nothing.
        self.entering.task.get().is_null()
            && !std::thread::panicking()
            && !self.is_held_back()
            && self.ensure_stack().is_ok()
    }

    /// Begins this task in place of the running one, which goes on behind all that are ready, and arrives at its cancellation then.
    ///
    /// # Safety
    /// The caller is this worker, which [may](Self::may_enter); the task is a closure's that is ready to run, the caller's, and in no
    /// queue.
    pub unsafe fn enter(&'static self, task: *mut Header) {
        let running = point::running(self);
        self.entering.task.set(task);
        self.entering.turns_left.set(self.turns_left.load(Relaxed));
        self.turns_left.store(0, Relaxed);
        let node = self.node();
        self.make_ready(&raw const node as *mut Node);
        // SAFETY: there is a stack, as the caller says; the node is ours, in the ready ring, where it is found exactly once.
        unsafe { self.suspend(&node) };
        // SAFETY: it runs again.
        unsafe { point::check_of(running) };
    }

    /// The task that is to be entered with this turn; null if there is none.
    pub fn take_entering(&self) -> *mut Header {
        let task = self.entering.task.replace(null_mut());
        if !task.is_null() {
            self.turns_left.store(self.entering.turns_left.get(), Relaxed);
        }
        task
    }

    /// The loop ends.
    pub fn give_entering_back(&self) {
        let task = self.entering.task.replace(null_mut());
        if !task.is_null() {
            // SAFETY: it was in the slot, so it is in no queue, and ours.
            unsafe { self.hub.inject_into(None, task, self.hub.comer()) };
        }
    }
}
