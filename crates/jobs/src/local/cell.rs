//! What a job and its handle share: the closure, then the result.

use super::error::JobError;
use super::wakers::{Place, Wakers};
use crate::machine::{Demand, JobId, Outcome, Report, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::running::{ToTell, UnderWay};
use myriad_core::engine::unwind;
use myriad_core::engine::user_code::StoredWaker;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// One run of a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub id: JobId,
    pub element: Option<u32>,
    pub attempt: u32,
}

/// What a job runs. No lock of the queue is held while one of these is called, but where that is
/// said.
pub(crate) trait Body: Send + Sync {
    /// The calling task is the run of this job from now on, until [`leave`](Self::leave). False:
    /// the run was stopped before it began.
    fn enter(&self, id: JobId) -> bool;
    /// Runs it, on that task, and leaves when it returns.
    fn run(&self, call: Call) -> (Outcome, Option<Report>);
    /// There is no run any more: it has unwound, was stopped before it began, or never came.
    fn leave(&self, id: JobId);
    /// The run has to stop: also if it is only about to begin. Under the queue's lock, and so
    /// without user code; what is returned is told without.
    #[must_use]
    fn stop(&self, id: JobId) -> Option<ToTell>;
    /// Does the calling task run the job? Under the queue's lock.
    fn is_run_by(&self, id: JobId, task: UnderWay) -> bool;
    /// What the job asks for by now; it has not begun. Under the queue's lock.
    fn limit(&self, _: &Demand) {}
    /// Another attempt follows, which is not stopped yet. Under the queue's lock: so a stop meets
    /// the run that it was meant for.
    fn note_retry(&self, id: JobId);
    /// The job has ended so; those who wait for that are to be woken. Under the queue's lock, in
    /// which the queue may forget the job: whoever has a handle knows how that one ended.
    fn note_end(&self, id: JobId, state: State, wake: &mut Vec<StoredWaker>);
    /// How the job has ended; `None` if it has not.
    fn ended(&self) -> Option<State>;
}

/// A body whose handle gets a `T`.
pub(crate) trait Slot<T>: Body {
    fn cell(&self) -> &Cell<T>;
}

/// The run of a job.
#[derive(Debug, Default)]
pub(crate) struct Run {
    /// What runs it: from its first step until it has left, so the task has not ended.
    task: Option<UnderWay>,
    /// It has to stop.
    stop: bool,
}

impl Run {
    pub(crate) fn enter(&mut self) -> bool {
        self.task = Some(UnderWay::here());
        !self.stop
    }
    pub(crate) fn leave(&mut self) {
        self.task = None;
    }
    pub(crate) fn stop(&mut self) -> Option<ToTell> {
        self.stop = true;
        // SAFETY: the task was spawned by the queue, and is here until it leaves, which it does
        // before its end, under the lock around this: so it does not end before this returns.
        self.task.and_then(|task| unsafe { task.mark() })
    }
    pub(crate) fn is_run_by(&self, task: UnderWay) -> bool {
        self.task == Some(task)
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
    wakers: Wakers,
}

impl<T> Cell<T> {
    pub(crate) fn new() -> Cell<T> {
        Cell(Mutex::new(Inside {
            run: Run::default(),
            result: None,
            failure: None,
            state: None,
            id: None,
            wakers: Wakers::default(),
        }))
    }
    pub(crate) fn with_run<R>(&self, f: impl FnOnce(&mut Run) -> R) -> R {
        f(&mut self.0.lock().run)
    }
    /// The run leaves with this result, or because it failed for this reason.
    pub(crate) fn leave_with(&self, result: Result<T, Option<Arc<str>>>) {
        let mut inside = self.0.lock();
        let (value, failure) = match result {
            Ok(value) => (Some(value), None),
            Err(failure) => (None, failure),
        };
        inside.run.leave();
        inside.failure = failure;
        let old = std::mem::replace(&mut inside.result, value);
        drop(inside);
        if old.is_some() {
            unwind::drop_quietly(old);
        }
    }
    /// Another attempt follows: of this one nothing is left.
    pub(crate) fn note_retry(&self) {
        let mut inside = self.0.lock();
        (inside.run.stop, inside.failure) = (false, None);
    }
    /// A result beside that of the run.
    pub(crate) fn fail(&self, reason: Arc<str>) {
        self.0.lock().failure = Some(reason);
    }
    pub(crate) fn set_id(&self, id: JobId) {
        self.0.lock().id = Some(id);
    }
    pub(crate) fn is_of(&self, id: JobId) -> bool {
        self.0.lock().id == Some(id)
    }
    pub(crate) fn note_end(&self, state: State, wake: &mut Vec<StoredWaker>) {
        let mut inside = self.0.lock();
        inside.state = Some(state);
        wake.extend(inside.wakers.take());
    }
    pub(crate) fn state(&self) -> Option<State> {
        self.0.lock().state
    }
    /// Waits until the job has ended.
    pub(crate) async fn wait(&self) -> State {
        let mut waits = Waits { cell: self, place: 0 };
        poll_fn(|cx| self.poll(cx, &mut waits.place)).await
    }
    fn poll(&self, cx: &mut Context<'_>, place: &mut Place) -> Poll<State> {
        {
            let inside = self.0.lock();
            if let Some(state) = inside.state {
                return Poll::Ready(state);
            }
            if inside.wakers.has(*place, cx.waker()) {
                return Poll::Pending;
            }
        }
        // Cloned without the lock: a waker is user code.
        let waker = StoredWaker::clone_of(cx.waker());
        let mut inside = self.0.lock();
        let (old, poll) = match inside.state {
            None => (inside.wakers.put(place, waker), Poll::Pending),
            Some(state) => (Some(waker), Poll::Ready(state)),
        };
        drop(inside);
        old.into_iter().for_each(StoredWaker::discard);
        poll
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
        inside.wakers.take().for_each(StoredWaker::discard);
        if let Some(result) = inside.result.take() {
            unwind::drop_quietly(result);
        }
    }
}

/// One who waits for the end.
struct Waits<'a, T> {
    cell: &'a Cell<T>,
    place: Place,
}

impl<T> Drop for Waits<'_, T> {
    fn drop(&mut self) {
        let waker = self.cell.0.lock().wakers.leave(self.place);
        waker.into_iter().for_each(StoredWaker::discard);
    }
}
