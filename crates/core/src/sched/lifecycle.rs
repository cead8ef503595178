//! The doors of a task's life: each step of each task goes through one function.
//!
//! | step | door |
//! |---|---|
//! | it is created | [`record::create`](crate::record::create): a `Blank` is filled, or a frame |
//! | it begins | [`begin`] |
//! | it is set aside, and says for what | `Role::suspend`, with a [`WaitReason`] in its node |
//! | it is woken | [`wake_node`](crate::sched::worker::wake_node) and its like |
//! | it ends | [`end`], or [`end_by_runner`] where its outcome is written |
//!
//! [`WaitReason`]: crate::queue::reason::WaitReason
//!
//! Where a task is run by other means than its header's `run`, because that is cheaper (the claimed
//! closure of a `join`), the place says [`begins`] and [`ends`] itself.
//!
//! What wants to see tasks live (a count, a trace, a dump) attaches to [`record::step`], to which
//! all these say what they do. A future that is polled again goes through [`begin`] each time.
//!
//! [`record::step`]: crate::record::step

use crate::queue::parked::Parked;
use crate::record::header::{DETACHED, Ended, Header, Outcome};
use crate::record::held::{EndWaiter, Ending, Finished};
use crate::record::step::{self, Step};
use crate::record::task::Runnable;
use myriad_base::sys::atomic::Ordering::*;

/// A task begins that is called in place.
#[inline(always)]
pub(crate) fn begins(task: *const Header) {
    step::task(Step::Begins, task);
}

/// A task has come to its end, and the caller, which has run it in place, takes what it left.
#[inline(always)]
pub(crate) fn ends(task: *const Header) {
    step::task(Step::Ends, task);
}

/// What runs is about to be set aside, to wait at this node.
#[inline(always)]
pub(crate) fn set_aside(node: *const Parked) {
    step::tell(Step::SetAside, node.cast());
}

/// What waits at this node is about to be woken.
#[inline(always)]
pub(crate) fn woken(node: *const Parked) {
    step::tell(Step::Woken, node.cast());
}

/// Runs a task, to its end; a future until it waits. On a worker it is what that worker
/// [runs](crate::sched::worker::Worker::running).
#[inline(always)]
pub(crate) fn begin(task: Runnable) -> Ended {
    begins(task.address());
    task.run()
}

/// Says how a task has ended, and that it has: returns whose the record is, and who waits.
///
/// # Safety
/// The caller has run the task to its end, or nobody ever does; the payload is what `outcome` says.
#[inline(always)]
pub(crate) unsafe fn end(task: *mut Header, outcome: Outcome) -> Ending {
    ends(task);
    // SAFETY: the caller is the runner or stands for it (this function's contract), so until
    // `complete` the record is the caller's.
    unsafe {
        (*task).set_outcome(outcome);
        ending(task, Header::complete(task))
    }
}

/// # Safety
/// The caller has ended the task, its outcome is written, and this word was in its `waiter`.
#[inline(always)]
unsafe fn ending(task: *mut Header, waiter: *mut ()) -> Ending {
    if waiter.is_null() {
        return Ending::Held;
    }
    // SAFETY: the task has ended, with its outcome written (this function's contract). If it was
    // detached, nobody else uses the record; else the word was taken out by the end, so it is
    // nowhere else.
    unsafe {
        if waiter == DETACHED {
            Ending::Detached(Finished::from_raw(task))
        } else {
            Ending::Awaited(EndWaiter::from_raw(waiter))
        }
    }
}

/// The same by the worker that has run the task and written its outcome. A task that was detached
/// before its end, as most are of those that are, needs no exchange: its `waiter` says [`DETACHED`]
/// from then on too.
///
/// # Safety
/// The calling worker has run the task to its end; the payload is what the outcome says.
#[inline(always)]
pub(crate) unsafe fn end_by_runner(task: *mut Header) -> Ending {
    ends(task);
    // SAFETY: the caller has run the task (this function's contract), so until `complete` the
    // record is the caller's. Acquire: as in `complete`.
    unsafe {
        let before = (*task).waiter(Acquire);
        ending(task, if before == DETACHED { before } else { Header::complete(task) })
    }
}

/// The outcome that such an end leaves.
#[inline(always)]
pub(crate) fn outcome_of(ended: Ended) -> Outcome {
    if ended == Ended::Panicked { Outcome::Panicked } else { Outcome::Returned }
}

#[cfg(all(test, not(loom)))]
mod test;
