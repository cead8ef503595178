//! A task that is entered at once, in place of the running one:
//! [`dispatch`](crate::task::dispatch), `JoinHandle::yield_to`.
//!
//! The task stands in no queue meanwhile, but in a slot of the worker: no thief takes it, no policy
//! sorts it in. The caller makes its next turn one with a look at this and that (`tick_countdown`
//! 0), and blocks behind the ready tasks. So the loop comes by, finds the slot, and puts the number
//! of turns back: between two tasks nothing has been asked that was not asked before.
//!
//! **Fairness.** A task that is entered and enters another one has neither ended nor blocked, so a
//! chain of them takes no turns. Every [`IN_A_ROW`] of them the caller gives way first, to all that
//! is ready and, by a look, to what is queued.
//!
//! **Invariant.** The slot is full only between [`Role::enter`] and the next turn of the same
//! worker. If that is its last, the task goes to the injector, where the end of the runtime finds
//! it.

use super::{Role, SELDOM, Worker};
use crate::queue::parked::{Parked, Resumable};
use crate::queue::reason::WaitReason;
use crate::record::task::Runnable;
use crate::sched::cancel::checkpoint;
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;

/// So many tasks are entered between two looks, at most. (Where they end or block there are never
/// so many.)
pub(crate) const IN_A_ROW: u32 = 2 * SELDOM;

/// The slot.
pub(crate) struct RunNext {
    task: Cell<Option<Runnable>>,
    /// The worker's `tick_countdown` before.
    tick_countdown: Cell<u32>,
    /// How many were entered ...
    in_a_row: Cell<u32>,
    /// ... since the worker had made so many looks.
    tick_count: Cell<u32>,
}

impl Default for RunNext {
    fn default() -> Self {
        RunNext {
            task: Cell::new(None),
            tick_countdown: Cell::new(0),
            in_a_row: Cell::new(0),
            tick_count: Cell::new(0),
        }
    }
}

impl fmt::Debug for RunNext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunNext").field("any", &!self.is_empty()).finish_non_exhaustive()
    }
}

impl RunNext {
    /// One more is about to be entered, after so many looks: are these too many in a row?
    fn is_too_much(&self, tick_count: u32) -> bool {
        let before = if self.tick_count.replace(tick_count) == tick_count { self.in_a_row.get() } else { 0 };
        let too_much = before >= IN_A_ROW;
        self.in_a_row.set(if too_much { 0 } else { before + 1 });
        too_much
    }

    /// (A look takes the task out, and puts it back.)
    fn is_empty(&self) -> bool {
        let task = self.task.take();
        let is_empty = task.is_none();
        self.task.set(task);
        is_empty
    }
}

impl Role {
    /// May the running task be set aside, and another one be begun here? By the worker that is
    /// returned, which may be another one.
    ///
    /// # Blocking
    /// Gives way, if too many tasks were entered in a row. (Before the task is taken out of its
    /// queue; a cancellation of the caller arrives after it has begun, as always.)
    pub(crate) fn may_enter(self) -> Option<MayEnter> {
        // Not in a destructor that runs because of a panic.
        let may = |w: &Worker| w.run_next.is_empty() && !std::thread::panicking() && w.ensure_stack().is_ok();
        if !may(&self) {
            return None;
        }
        if !self.run_next.is_too_much(self.tick_count.load(Relaxed)) {
            return Some(MayEnter(self));
        }
        let w = self.set_aside();
        may(&w).then_some(MayEnter(w))
    }

    /// Sets the running task aside, behind all that are ready; the worker's next turn is one with a
    /// look.
    fn set_aside(self) -> Role {
        self.request_tick();
        let node = self.node(WaitReason::Yield);
        // SAFETY: there is a stack, as `may_enter` says. The node is that of the caller, who blocks
        // next; it is in no list.
        unsafe {
            self.make_ready(Resumable::from_raw(&raw const node as *mut Parked));
            self.suspend(&node)
        }
    }
}

/// The role of a worker that [may](Role::may_enter) enter another task.
pub(crate) struct MayEnter(Role);

impl Deref for MayEnter {
    type Target = Role;
    fn deref(&self) -> &Role {
        &self.0
    }
}

impl MayEnter {
    /// Begins this task in place of the running one, which goes on behind all that are ready, and
    /// arrives at its cancellation then.
    pub(crate) fn enter(self, task: Runnable) -> Role {
        let MayEnter(w) = self;
        w.run_next.task.set(Some(task));
        w.run_next.tick_countdown.set(w.tick_countdown.load(Relaxed));
        let w = w.set_aside();
        checkpoint::check(&w);
        w
    }
}

impl Worker {
    /// The task that is to be entered with this turn.
    pub(crate) fn take_run_next(&self) -> Option<Runnable> {
        let task = self.run_next.task.take();
        if task.is_some() {
            self.tick_countdown.store(self.run_next.tick_countdown.get(), Relaxed);
        }
        task
    }

    /// The loop ends.
    pub(crate) fn give_run_next_back(&self) {
        if let Some(task) = self.run_next.task.take() {
            self.pool.inject_into(None, task, self.pool.origin());
        }
    }
}
