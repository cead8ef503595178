//! Letting another job go first.

use crate::own::worker::Worker;
use crate::unwind;
use myriad_core::engine::guest::{self, Queues};
use std::cell::Cell;

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

/// Runs one job that has not begun, of the caller's worker or from wherever in its pool, on top of
/// the caller, and returns when it has ended. `None` on a thread that is no worker.
///
/// # Blocking
/// As long as that job takes. If the job blocks, so does the caller: it must not wait for something
/// that the caller would do next.
///
/// On Myriad's workers jobs that have begun, and could go on, do so first. At most 32 jobs stand so
/// on top of others on a thread; if there are as many, or less than half of a stack is left, the
/// others that could go on do so, and that is all ([`Yield::Idle`]).
///
/// In a pool with own threads there is no such bound, as in rayon: jobs that yield stand on top of
/// each other as long as there is another one, and the stack must have room for them
/// ([`stack_size`](crate::ThreadPoolBuilder::stack_size)).
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
    match guest::worker() {
        Some(_) => {
            myriad_core::yield_now();
            Some(Yield::of(run_on_top(Queues::All)))
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
    match guest::worker() {
        Some(_) => {
            let executed = run_on_top(Queues::Own);
            if !executed {
                // A caller that goes on asking does so for a job that it must not begin, perhaps.
                myriad_core::yield_now();
            }
            Some(Yield::of(executed))
        }
        None => run(Worker::current()?, Worker::find_here),
    }
}

/// So many jobs stand on top of others on a thread of Myriad's: fewer than there are turns between
/// two ticks of a worker's loop, each of which begins a job on another stack. Else jobs that yield
/// would begin others faster than they end, and each had a stack.
const DEEPEST: u32 = 32;

thread_local! {
    /// How many do on this one. (On all stacks of a worker in fiber mode, where it is one thread.)
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs a job of Myriad's pool on top of the caller, if that is not too deep.
fn run_on_top(from: Queues) -> bool {
    let depth = DEPTH.get();
    // (Asked for here: the caller may have waited.)
    let Some(worker) = guest::worker().filter(|_| depth < DEEPEST) else { return false };
    DEPTH.set(depth + 1);
    let executed = unwind::never_left("a job that waits in `yield_now`", || worker.run_one(from));
    // A closure stays on its thread, but others have come and gone there.
    DEPTH.set(DEPTH.get() - 1);
    executed
}

fn run(w: &Worker, find: impl FnOnce(&Worker) -> Option<crate::own::job::Job>) -> Option<Yield> {
    let job = find(w);
    Some(Yield::of(job.is_some_and(|job| {
        // SAFETY: the job was taken out of a queue, where it was once.
        unsafe { w.run_apart(job) };
        true
    })))
}
