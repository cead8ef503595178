//! The ends of a record: dropping what nobody takes, and giving the memory back.

use super::header::{DETACHED, Header, Kind, Mode, Outcome};
use super::waker::wake_waiter;
use crate::runtime::hub::Hub;
use crate::sched::worker::{self, Worker};
use crate::unwind;

/// Frees a record whose payload is gone.
///
/// # Safety
/// The record is the caller's, and its payload has been taken or dropped.
#[inline(always)]
pub(crate) unsafe fn free(w: Option<&'static Worker>, task: *mut Header) {
    // SAFETY: the caller.
    unsafe {
        if (*task).kind.has(Kind::NAMED) {
            Hub::of((*task).runtime).forget_name(task);
        }
        worker::free_record(w, task);
    }
}

/// Drops the outcome of a task whose handle is gone, and frees its record.
///
/// # Safety
/// The task has ended; the record is the caller's.
pub(crate) unsafe fn drop_outcome(w: Option<&'static Worker>, task: *mut Header) {
    // SAFETY: the caller. A panic in the destructor of a result that nobody wanted must not take the worker down.
    unsafe {
        if let Err(payload) = unwind::catch(|| ((*task).run)(task, Mode::DropOutcome)) {
            unwind::discard(payload);
            eprintln!(
                "myriad: the result of a detached task (spawned at {}) panicked while it was dropped",
                (*task).place
            );
        }
        // The destructor may have waited.
        free(w.map(Worker::still), task);
    }
}

/// A task that never starts, because its runtime has been shut down: drops what is in it and tells its joiner.
///
/// # Safety
/// The task is in no queue and the caller's; it has not been started, or is an idle future.
pub(crate) unsafe fn drop_unstarted(task: *mut Header) {
    // SAFETY: the caller; after `complete` the record is ours only if it was detached.
    unsafe {
        if let Err(payload) = unwind::catch(|| ((*task).run)(task, Mode::DropUnstarted)) {
            unwind::discard(payload);
            eprintln!("myriad: a task dropped at shutdown (spawned at {}) panicked in its destructor", (*task).place);
        }
        (*task).outcome = Outcome::Dropped;
        let waiter = Header::complete(task);
        if waiter == DETACHED {
            free(worker::current(), task);
        } else if !waiter.is_null() {
            wake_waiter(worker::current(), waiter);
        }
    }
}
