//! What a job and its handle share: the closure, then the result.

use super::error::JobError;
use crate::machine::{Demand, JobId, Outcome, Report, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::JoinHandle;
use myriad_core::engine::unwind;
use myriad_core::engine::user_code::StoredWaker;
use myriad_core::task::{Canceller, TaskId};
use std::sync::Arc;
use std::task::{Context, Poll};

/// One run of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub id: JobId,
    pub element: Option<u32>,
}

/// Spawns the task of a run. It spawns, and does nothing else.
pub(crate) type Spawn<'a> = &'a mut dyn FnMut() -> JoinHandle<()>;

/// What a job runs. No lock of the queue is held while one of these is called.
pub(crate) trait Body: Send + Sync {
    /// Begins a run: its task is known before the run can ask for it. Returns what the run is
    /// cancelled by, if it was stopped meanwhile.
    #[must_use]
    fn begin(&self, id: JobId, spawn: Spawn<'_>) -> Option<Canceller>;
    /// Runs it, on that task.
    fn run(&self, call: Call) -> (Outcome, Option<Report>);
    /// The run is over, or never came; another attempt may follow. Under the queue's lock: so a
    /// stop meets the run that it was meant for.
    fn end(&self, id: JobId);
    /// The run has to stop: also if it is only about to begin. Under the queue's lock, and so
    /// without user code; what is returned is called without.
    #[must_use]
    fn stop(&self, id: JobId) -> Option<Canceller>;
    /// The task that runs the job.
    fn task(&self, id: JobId) -> Option<TaskId>;
    /// What the job has asked for, before it begins.
    fn limit(&self, _: &Demand) {}
    /// The job has ended so. Under the queue's lock, in which the queue may forget the job: whoever
    /// has a handle knows how that one ended.
    fn note_end(&self, id: JobId, state: State);
    /// The job has ended, as was noted: wakes those who wait for that.
    fn over(&self, id: JobId);
    /// How the job has ended; `None` if it has not.
    fn ended(&self) -> Option<State>;
}

/// A body whose handle gets a `T`.
pub(crate) trait Slot<T>: Body {
    fn cell(&self) -> &Cell<T>;
}

/// The run of a job that is under way.
#[derive(Debug, Default)]
pub(crate) struct Run {
    task: Option<JoinHandle<()>>,
    /// It has to stop.
    stop: bool,
}

impl Run {
    pub(crate) fn begin(&mut self, spawn: Spawn<'_>) -> Option<Canceller> {
        // Under the lock of the cell: so the run, whose first step takes that lock, finds its task.
        // A spawn runs no user code.
        let task = self.task.insert(spawn());
        self.stop.then(|| task.canceller())
    }
    /// The handle of the run's own task, which is detached.
    pub(crate) fn end(&mut self) {
        *self = Run::default();
    }
    pub(crate) fn stop(&mut self) -> Option<Canceller> {
        self.stop = true;
        self.task.as_ref().map(JoinHandle::canceller)
    }
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.task.as_ref().map(JoinHandle::id)
    }
}

/// See the module's header. The lock is held for some instructions, and no user code runs under it.
#[derive(Debug)]
pub(crate) struct Cell<T>(Mutex<Inside<T>>);

#[derive(Debug)]
struct Inside<T> {
    run: Run,
    result: Option<T>,
    failure: Option<Arc<str>>,
    state: Option<State>,
    /// The number of the job, once it has one.
    id: Option<JobId>,
    wakers: Vec<StoredWaker>,
}

impl<T> Cell<T> {
    pub(crate) fn new() -> Cell<T> {
        Cell(Mutex::new(Inside {
            run: Run::default(),
            result: None,
            failure: None,
            state: None,
            id: None,
            wakers: Vec::new(),
        }))
    }
    pub(crate) fn begin(&self, spawn: Spawn<'_>) -> Option<Canceller> {
        self.0.lock().run.begin(spawn)
    }
    /// A run has this result, or failed for this reason.
    pub(crate) fn put(&self, result: Result<T, Option<Arc<str>>>) {
        let mut inside = self.0.lock();
        let (value, failure) = match result {
            Ok(value) => (Some(value), None),
            Err(failure) => (None, failure),
        };
        inside.failure = failure;
        let old = std::mem::replace(&mut inside.result, value);
        drop(inside);
        if old.is_some() {
            unwind::drop_quietly(old);
        }
    }
    pub(crate) fn end(&self) {
        self.0.lock().run.end();
    }
    pub(crate) fn stop(&self) -> Option<Canceller> {
        self.0.lock().run.stop()
    }
    pub(crate) fn task(&self) -> Option<TaskId> {
        self.0.lock().run.task()
    }
    /// For a run that begins: the one who spawned it has noted its task.
    pub(crate) fn wait_for_begin(&self) {
        drop(self.0.lock());
    }
    pub(crate) fn set_id(&self, id: JobId) {
        self.0.lock().id = Some(id);
    }
    pub(crate) fn is_of(&self, id: JobId) -> bool {
        self.0.lock().id == Some(id)
    }
    pub(crate) fn note_end(&self, state: State) {
        self.0.lock().state = Some(state);
    }
    pub(crate) fn over(&self) {
        let wakers = std::mem::take(&mut self.0.lock().wakers);
        wakers.into_iter().for_each(StoredWaker::wake);
    }
    pub(crate) fn state(&self) -> Option<State> {
        self.0.lock().state
    }
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<State> {
        if let Some(state) = self.state() {
            return Poll::Ready(state);
        }
        // Cloned without the lock: a waker is user code.
        let waker = StoredWaker::clone_of(cx.waker());
        let mut inside = self.0.lock();
        match inside.state {
            None => {
                inside.wakers.push(waker);
                Poll::Pending
            }
            Some(state) => {
                drop(inside);
                waker.discard();
                Poll::Ready(state)
            }
        }
    }
    /// What came out of a job that has ended so.
    pub(crate) fn take(&self, id: JobId, state: State) -> Result<T, JobError> {
        let mut inside = self.0.lock();
        match state {
            State::Done => inside.result.take().ok_or(JobError::Lost(id)),
            State::Failed => Err(JobError::Failed(id, inside.failure.take().unwrap_or_else(|| "no reason".into()))),
            State::TimedOut => Err(JobError::TimedOut(id, inside.failure.take())),
            State::Skipped(by) => Err(JobError::Skipped(id, by)),
            _ => Err(JobError::Cancelled(id)),
        }
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        let inside = self.0.get_mut();
        std::mem::take(&mut inside.wakers).into_iter().for_each(StoredWaker::discard);
        if let Some(result) = inside.result.take() {
            unwind::drop_quietly(result);
        }
    }
}
