//! Pools of own threads: what [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) makes.
//!
//! Such a pool promises OS threads of its own: with names, stacks, thread-locals, handlers, started
//! by whomever the user likes, and numbered for good. The workers of Myriad promise none of that;
//! in threads mode a task that waits keeps its thread, and another one is the worker. So here is a
//! small work-stealing pool as rayon's own is, with deques of crossbeam, in which a worker that
//! waits runs other jobs on top. What blocks in it blocks a thread: only the global pool is
//! Myriad's.

pub(crate) mod detached;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod registry;
mod sleep;
pub(crate) mod thread;
pub(crate) mod worker;

use crate::unwind::{self, AbortOnUnwind};
use crate::user_code;
use job::{FrameJob, Job};
use latch::Latch;
use myriad_core::cancel;
use worker::Worker;

/// `join` on this worker; `a` and `b` are told whether they run elsewhere than they were written
/// down.
#[inline]
pub(crate) fn join<A, B, RA, RB>(w: &Worker, injected: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let job = FrameJob::new(b, Latch::of_worker(w));
    // From here on others may have a pointer into this frame, until the job is taken back, or its
    // latch is set.
    let guard = AbortOnUnwind("a `join`");
    // SAFETY: the guard: this frame is not left before the job was taken back, or its latch is set.
    let as_job = unsafe { job.job() };
    w.push(as_job);
    let ra = match user_code::body(|| a(injected)) {
        Ok(ra) => ra,
        Err(payload) => {
            // `b` is run in any case, here or elsewhere. Its own panic gives way, and its result is
            // not dropped while this thread panics.
            w.work_until(|| job.latch.is_set());
            std::mem::forget(guard);
            user_code::let_go_result(job.into_result());
            unwind::resume(payload);
        }
    };
    let is_back = !job.latch.is_set()
        && match w.pop() {
            Some(top) if top == as_job => true,
            other => comes_back(w, as_job, other, &job.latch),
        };
    std::mem::forget(guard);
    if is_back {
        let b = job.into_closure();
        return (ra, b(injected));
    }
    match job.into_result() {
        Ok(rb) => (ra, rb),
        Err(payload) => unwind::resume(payload),
    }
}

/// Runs what the first closure has left in the queue, most often by `spawn`, until the second one's
/// job comes back (true), or has been run elsewhere. (Apart from what the caller is in: see
/// [`Worker::work_until`].)
#[cold]
#[inline(never)]
fn comes_back(w: &Worker, awaited: Job, first: Option<Job>, latch: &Latch) -> bool {
    cancel::shield(|| {
        let mut next = first;
        loop {
            match next {
                Some(job) if job == awaited => return true,
                // SAFETY: the job was taken out of the queue, where it was once.
                Some(other) => unsafe { other.run() },
                None => w.work_until(|| latch.is_set()),
            }
            if latch.is_set() {
                return false;
            }
            next = w.pop();
        }
    })
}
