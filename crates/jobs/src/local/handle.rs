//! The handle of a job that was submitted.

use super::cell::{Body, Slot};
use super::counted::Counted;
use super::error::JobError;
use super::job::Job;
use super::shared::Shared;
use crate::machine::{JobId, Refused, State, Waiting};
use std::fmt;
use std::sync::Arc;

/// A job of a [`Queue`](super::Queue): its result, its state, and a way to cancel it.
///
/// Dropping the handle changes nothing for the job; its result is dropped with the last of both.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, Local, State};
/// let q = Local::new().start();
/// let job = q.submit(Job::new(|| "done"))?;
/// assert_eq!(job.wait(), State::Done);
/// assert_eq!(job.join()?, "done");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JobHandle<T> {
    id: JobId,
    pub(crate) slot: Counted<dyn Slot<T>>,
    queue: Arc<Shared>,
}

impl<T> JobHandle<T> {
    pub(super) fn new(id: JobId, slot: Counted<dyn Slot<T>>, queue: Arc<Shared>) -> JobHandle<T> {
        JobHandle { id, slot, queue }
    }
    /// The job's number.
    pub fn id(&self) -> JobId {
        self.id
    }
    /// How it has ended; `None` if it has not. Unlike [`state`](Self::state) this asks no queue.
    pub(super) fn ended(&self) -> Option<State> {
        self.slot.cell().state()
    }
    /// The number of its queue.
    pub(super) fn queue_number(&self) -> u64 {
        self.queue.number
    }
    /// What it runs: its end can be asked for there when the queue has forgotten the job.
    pub(super) fn body(&self) -> Counted<dyn Body> {
        self.slot.clone().into_body()
    }
    /// Its state. Never blocks.
    pub fn state(&self) -> State {
        self.ended().or_else(|| self.queue.state(self.id).ok()).or_else(|| self.ended()).unwrap_or(State::Pending)
    }
    /// Has it ended? Never blocks.
    pub fn is_finished(&self) -> bool {
        self.ended().is_some()
    }
    /// Why it has not begun; `None` if it has. Never blocks.
    pub fn why(&self) -> Option<Waiting> {
        self.queue.why(self.id).ok().flatten()
    }
    /// Cancels it: one that has not begun never does; one that runs is asked to stop. What the job
    /// holds stays its own until it has really ended. Never blocks.
    pub fn cancel(&self) {
        // (One that has ended, and is forgotten, needs no cancelling.)
        _ = self.queue.cancel(self.id);
    }

    /// Waits until the job has ended, and returns how.
    ///
    /// # Blocking
    /// Until then. A job that waits so for another job of its queue is *suspended*: it gives back
    /// what it holds, and takes that again before it goes on. From the moment when it could go on
    /// no job begins that would take that. So jobs may wait for jobs that they submit, to any
    /// depth, on one processor. If the runtime of the queue ends, a job that has not begun ends as
    /// cancelled, and so does one that the runtime leaves blocked: who waits in another runtime, or
    /// on a plain thread, is told.
    ///
    /// # Cancellation
    /// Leaves at once; the job is not cancelled by that.
    pub fn wait(&self) -> State {
        if let Some(state) = self.ended() {
            return state;
        }
        let _suspended = self.queue.suspend_caller();
        let _outside = self.queue.wait_outside();
        myriad_core::block_on(self.slot.cell().wait())
    }

    /// Waits until the job has ended, as [`wait`](Self::wait) does, and takes its result.
    ///
    /// # Errors
    /// Why there is none: a failure with its reason, a time limit, a cancellation, a dependency,
    /// the end of the runtime.
    pub fn join(self) -> Result<T, JobError> {
        let state = self.wait();
        self.slot.cell().take(self.id, state)
    }

    /// The same as a future. (A future gives back nothing meanwhile: a job from a closure waits by
    /// [`join`](Self::join).)
    pub async fn join_async(self) -> Result<T, JobError> {
        if self.ended().is_none() {
            let _outside = self.queue.wait_outside();
            self.slot.cell().wait().await;
        }
        let state = self.slot.cell().wait().await;
        self.slot.cell().take(self.id, state)
    }

    /// The job, to be submitted to its queue again: what it runs and what it asks for, without its
    /// dependencies, its start time and its hold. It may be changed before that. The job that has
    /// ended stays as it is, in the history; its result is lost.
    ///
    /// # Errors
    /// It has not ended, or it can be [called once](super::Job::again) only; with the handle.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, State};
    /// let q = Local::new().start();
    /// let job = q.submit(Job::command(["sh", "-c", "exit 1"]).name("build").priority(3))?;
    /// assert_eq!(job.wait(), State::Failed);
    /// let again = q.submit(job.into_job().unwrap().memory("1 GB").name("build, with more memory"))?;
    /// assert_eq!(again.wait(), State::Failed);
    /// assert_eq!(q.jobs().len(), 2);
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn into_job(self) -> Result<Job<T>, JobHandle<T>>
    where
        T: Send + 'static,
    {
        if self.ended().is_none() {
            return Err(self);
        }
        match self.slot.renew() {
            Some((body, request)) => Ok(Job::of_ended(&self, body, request)),
            None => Err(self),
        }
    }

    /// Lets a held job go: [`Queue::release`](super::Queue::release).
    ///
    /// # Errors
    /// The job has ended, and is forgotten.
    pub fn release(&self) -> Result<bool, Refused> {
        self.queue.release(self.id)
    }
}

impl<T> fmt::Debug for JobHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobHandle").field("id", &self.id).field("state", &self.state()).finish_non_exhaustive()
    }
}
