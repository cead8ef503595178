//! Pools of own threads: what [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) makes.
//!
//! Such a pool promises OS threads of its own: with names, stacks, thread-locals, handlers, started by whomever the user likes, and
//! numbered for good. The workers of Myriad promise none of that; in threads mode a task that waits keeps its thread, and
//! another one is the worker. So here is a small work-stealing pool as rayon's own is, with deques of crossbeam, in which a worker
//! that waits runs other jobs on top. What blocks in it blocks a thread: only the global pool is Myriad's.

pub(crate) mod detached;
pub(crate) mod job;
pub(crate) mod latch;
pub(crate) mod registry;
mod sleep;
pub(crate) mod thread;
pub(crate) mod worker;

use job::FrameJob;
use latch::Latch;
use worker::Worker;

/// `join` on this worker; `a` and `b` are told whether they run elsewhere than they were written down.
#[inline]
pub(crate) fn join<A, B, RA, RB>(w: &Worker, injected: bool, a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let job = FrameJob::new(b, Latch::of_worker(w));
    // SAFETY: this frame does not go before the job is taken back, or its latch is set.
    let as_job = unsafe { job.job() };
    w.push(as_job);
    let ra = match crate::unwind::catch(|| a(injected)) {
        Ok(ra) => ra,
        Err(payload) => {
            // `b` is run in any case, here or elsewhere; its own panic gives way.
            w.work_until(|| job.latch.is_set());
            crate::unwind::resume(payload);
        }
    };
    while !job.latch.is_set() {
        match w.pop() {
            Some(top) if top == as_job => {
                let b = job.into_closure();
                return (ra, b(injected));
            }
            // What `a` has left, most often by `spawn`.
            // SAFETY: taken out of the queue.
            Some(other) => unsafe { other.run() },
            None => w.work_until(|| job.latch.is_set()),
        }
    }
    (ra, job.into_result())
}
