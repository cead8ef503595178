//! The context of a future, which stays with its record from one poll to the next.
//!
//! `idx` holds it, with the top bit set, so that it is no position of any deque; and `run` is [`run`] below. Both are the
//! poller's to write, and ordered with the next poll by the queue and the state word, as the future itself is.

use super::{Context, Word, end, enter};
use crate::sched::deque::UNCLAIMED;
use crate::sched::worker;
use crate::sys::atomic::Ordering::Relaxed;
use crate::task::header::{Ended, Header, Mode};

const HELD: usize = 1 << (usize::BITS - 1);

/// Leaves the context with the future.
///
/// # Safety
/// The record is a future, without a context, and the caller's: polled by it, or not queued yet. The context is fresh.
pub(crate) unsafe fn attach(record: *mut Header, context: *mut Context) {
    // SAFETY: the caller.
    unsafe {
        (*context).run.set(Some((*record).run));
        (*record).run = run;
        (*record).idx.store(context.expose_provenance() | HELD, Relaxed);
    }
}

/// # Safety
/// The record has this context.
pub(crate) unsafe fn detach(record: *mut Header, context: *mut Context) {
    // SAFETY: the caller.
    unsafe {
        (*record).run = (*context).run.get().expect("left by `attach`");
        (*record).idx.store(UNCLAIMED, Relaxed);
    }
}

/// Has it this very context?
///
/// # Safety
/// The record is a live future, which the caller polls.
pub(crate) unsafe fn has(record: *mut Header, context: *mut Context) -> bool {
    // SAFETY: the caller.
    unsafe { (*record).idx.load(Relaxed) == context.addr() | HELD }
}

/// # Safety
/// The record has a context.
unsafe fn held(record: *mut Header) -> *mut Context {
    // SAFETY: the caller.
    std::ptr::with_exposed_provenance_mut(unsafe { (*record).idx.load(Relaxed) } & !HELD)
}

/// `run` of a future with a context.
unsafe fn run(record: *mut Header, mode: Mode) -> Ended {
    // SAFETY: as for the future's own `run`.
    unsafe {
        let context = held(record);
        let run = (*context).run.get().expect("left by `attach`");
        if mode == Mode::Run {
            // The poll's end leaves it where it is, or ends it. Afterwards the record is perhaps not ours any more.
            enter(worker::current().expect("polled on a worker"), context);
            return run(record, mode);
        }
        // Never to be polled (again): dropped by a shutdown, on whatever thread.
        detach(record, context);
        let ended = run(record, mode);
        (*context).clear();
        Context::free(context, worker::current());
        ended
    }
}

/// The poll ends: its worker runs the bare record from here on, for the next poll may be over before it says anything else.
///
/// # Safety
/// The record is a future that the caller polls.
#[inline(always)]
pub(crate) unsafe fn pause(record: *mut Header) {
    // SAFETY: the caller.
    if unsafe { (*record).idx.load(Relaxed) } != UNCLAIMED {
        worker::current().expect("polled on a worker").running.set(Word::of_task(record));
    }
}

/// The future is ready: so its context ends. Its record is running.
///
/// # Safety
/// The record is a future that the caller polls.
#[inline(always)]
pub(crate) unsafe fn finish(record: *mut Header) {
    // SAFETY: the caller.
    if unsafe { (*record).idx.load(Relaxed) } != UNCLAIMED {
        end();
    }
}
