//! Letting another job go first.

use crate::own::worker::Worker;
use myriad_core::guest::{self, Look};

/// What a yield has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yield {
    /// A job was run.
    Executed,
    /// There was none.
    Idle,
}

impl Yield {
    fn of(executed: bool) -> Yield {
        if executed { Yield::Executed } else { Yield::Idle }
    }
}

/// Runs one job that has not begun, of the caller's worker or from wherever in its pool, and returns when it has ended. `None` on a
/// thread that is no worker.
///
/// # Blocking
/// As long as that job takes. On Myriad's workers jobs that have begun, and could go on, do so first; and if the job blocks, so
/// does the caller: it must not wait for something that the caller would do next.
///
/// # Panics
/// Not because of the job.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
/// static DONE: AtomicBool = AtomicBool::new(false);
/// rayon_core::scope(|s| {
///     s.spawn(|_| DONE.store(true, SeqCst));
///     // Instead of a loop that does nothing.
///     while !DONE.load(SeqCst) {
///         rayon_core::yield_now();
///     }
/// });
/// ```
pub fn yield_now() -> Option<Yield> {
    match guest::seat() {
        Some(_) => {
            myriad_core::yield_now();
            guest::seat().map(|seat| Yield::of(seat.run_one(Look::Anywhere)))
        }
        None => run(Worker::current()?, Worker::find),
    }
}

/// As [`yield_now`], but only a job that this worker has in its own queue.
///
/// # Blocking
/// As [`yield_now`].
///
/// # Panics
/// As [`yield_now`].
pub fn yield_local() -> Option<Yield> {
    match guest::seat() {
        Some(seat) => Some(Yield::of(seat.run_one(Look::Here))),
        None => run(Worker::current()?, Worker::find_here),
    }
}

fn run(w: &Worker, find: impl FnOnce(&Worker) -> Option<crate::own::job::Job>) -> Option<Yield> {
    let job = find(w);
    Some(Yield::of(job.is_some_and(|job| {
        // SAFETY: taken out of a queue.
        unsafe { job.run() };
        true
    })))
}
