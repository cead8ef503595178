//! What a job and its handle share: the closure, then the result.

use super::counted::Counted;
use super::error::JobError;
use super::wakers::{Place, Wakers};
use crate::machine::{Demand, JobId, Outcome, Report, Request, State};
use myriad_base::lock::spin::SpinLock;
use myriad_core::engine::unwind;
use myriad_core::engine::user_code::StoredWaker;
use std::cell::UnsafeCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

/// One run of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    pub id: JobId,
    pub element: Option<u32>,
    pub attempt: u32,
}

/// What a job runs. No lock of the queue is held while one of these is called, but where that is
/// said.
pub(crate) trait Body: Send + Sync {
    /// Runs it.
    fn run(&self, call: Call) -> (Outcome, Option<Box<Report>>);
    /// Does it hold up its thread, on which no worker is to be?
    fn blocks(&self) -> bool {
        false
    }
    /// May user code run when this is dropped, after a run that ended well?
    fn has_drop(&self) -> bool {
        true
    }
    /// The job's number. Under the queue's lock, before anything else that happens to the job.
    fn note_submitted(&self, _: JobId) {}
    /// What the job asks for by now; it has not begun. Under the queue's lock.
    fn limit(&self, _: &Demand) {}
    /// What was asked for, of a body that can be called again. Under the queue's lock.
    fn keep(&self, _: &Request) {}
    /// That has been changed, before the job has begun. Under the queue's lock.
    fn change_kept(&self, _: &dyn Fn(&mut Request)) {}
    /// Stops the processes of a program, or lets them go on. False: there are none.
    fn pause(&self, _: bool) -> bool {
        false
    }
    /// Another attempt follows. Under the queue's lock.
    fn note_retry(&self);
    /// The job ends because its runtime does: it has not begun, or is left, and nobody had stopped
    /// it. Under the queue's lock.
    fn note_runtime_end(&self);
    /// The job has ended so. Returns who waits for that, to be woken. Under the queue's lock, in
    /// which the queue may forget the job: whoever has a handle knows how that one ended.
    fn note_end(&self, id: JobId, state: State) -> Option<Box<Wakers>>;
    /// How the job has ended; `None` if it has not.
    fn ended(&self) -> Option<State>;
    /// Of an array that was submitted: how many elements it has.
    fn elements(&self) -> u32 {
        0
    }
}

/// A body whose handle gets a `T`.
pub(crate) trait Slot<T>: Body {
    fn cell(&self) -> &Cell<T>;
    /// Of a job that has ended: a body that calls the same, and what was asked for. `None` if it
    /// can be called once.
    fn renew(&self) -> Option<(Counted<dyn Slot<T>>, Request)> {
        None
    }
    /// What the last run came to, if that is no result because it did not end well.
    fn remains(&self) -> Option<T> {
        None
    }
}

/// See the module's header. (The lock is left with a store: a mutex takes an exchange, and each job
/// comes here twice.)
///
/// **Invariant.** `inside` is used by the holder of `lock` only, for some instructions, among which
/// is no user code and nothing that suspends or unwinds.
pub(crate) struct Cell<T> {
    lock: SpinLock,
    inside: UnsafeCell<Inside<T>>,
}

// SAFETY: the value goes from thread to thread, and one thread at a time has what is inside.
unsafe impl<T: Send> Sync for Cell<T> {}

struct Inside<T> {
    left: Left<T>,
    state: Option<State>,
    /// Few jobs have a waiter: the others need no room for one.
    wakers: Option<Box<Wakers>>,
}

/// What the last run has left.
#[derive(Debug)]
enum Left<T> {
    Nothing,
    Value(T),
    Failure(Arc<str>),
    /// The runtime ends, and the job with it.
    RuntimeEnded,
}

impl<T> Cell<T> {
    pub(crate) fn new() -> Cell<T> {
        let inside = Inside { left: Left::Nothing, state: None, wakers: None };
        Cell { lock: SpinLock::new(), inside: UnsafeCell::new(inside) }
    }
    /// Each `f` of this file moves a value, looks at one, or keeps a waker.
    #[inline]
    fn locked<R>(&self, f: impl FnOnce(&mut Inside<T>) -> R) -> R {
        // SAFETY: see the invariant, and `f` above.
        let _lock = unsafe { self.lock.lock() };
        // SAFETY: the holder of the lock is the only user of what is inside.
        f(unsafe { &mut *self.inside.get() })
    }
    /// The last run has left that from now on.
    fn leave(&self, left: Left<T>) {
        self.locked(|inside| std::mem::replace(&mut inside.left, left)).discard();
    }
    /// The run has this result, or has failed for this reason.
    pub(crate) fn leave_with(&self, result: Result<T, Option<Arc<str>>>) {
        self.leave(match result {
            Ok(value) => Left::Value(value),
            Err(Some(reason)) => Left::Failure(reason),
            Err(None) => Left::Nothing,
        });
    }
    /// Another attempt follows: of this one nothing is left. (It has failed, so there is no value.)
    pub(crate) fn note_retry(&self) {
        self.leave(Left::Nothing);
    }
    /// A failure beside what the run leaves.
    pub(crate) fn fail(&self, reason: Arc<str>) {
        self.leave(Left::Failure(reason));
    }
    /// The job ends because its runtime does.
    pub(crate) fn note_runtime_end(&self) {
        self.locked(|inside| {
            if matches!(inside.left, Left::Nothing) {
                inside.left = Left::RuntimeEnded;
            }
        });
    }
    pub(crate) fn note_end(&self, state: State) -> Option<Box<Wakers>> {
        self.locked(|inside| {
            inside.state = Some(state);
            inside.wakers.take()
        })
    }
    pub(crate) fn state(&self) -> Option<State> {
        self.locked(|inside| inside.state)
    }
    /// Waits until the job has ended.
    pub(crate) async fn wait(&self) -> State {
        let mut waits = Waits { cell: self, place: 0 };
        poll_fn(|cx| self.poll(cx, &mut waits.place)).await
    }
    fn poll(&self, cx: &mut Context<'_>, place: &mut Place) -> Poll<State> {
        let early = self.locked(|inside| match (inside.state, &inside.wakers) {
            (Some(state), _) => Some(Poll::Ready(state)),
            (None, Some(wakers)) if wakers.has(*place, cx.waker()) => Some(Poll::Pending),
            _ => None,
        });
        if let Some(poll) = early {
            return poll;
        }
        // Cloned without the lock: a waker is user code.
        let waker = StoredWaker::clone_of(cx.waker());
        let (old, poll) = self.locked(|inside| match inside.state {
            None => (inside.wakers.get_or_insert_default().put(place, waker), Poll::Pending),
            Some(state) => (Some(waker), Poll::Ready(state)),
        });
        old.into_iter().for_each(StoredWaker::discard);
        poll
    }
    /// What came out of a job that has ended so.
    pub(crate) fn take(&self, id: JobId, state: State) -> Result<T, JobError> {
        let left = self.locked(|inside| std::mem::replace(&mut inside.left, Left::Nothing));
        match (state, left) {
            (State::Done, Left::Value(value)) => Ok(value),
            (State::Done, _) => Err(JobError::Lost(id)),
            (State::Cancelled, Left::RuntimeEnded) => Err(JobError::RuntimeEnded(id)),
            (State::Failed, Left::Failure(reason)) => Err(JobError::Failed(id, reason)),
            (State::Failed, _) => Err(JobError::Failed(id, "no reason".into())),
            (State::TimedOut, Left::Failure(reason)) => Err(JobError::TimedOut(id, Some(reason))),
            (State::TimedOut, _) => Err(JobError::TimedOut(id, None)),
            (State::Skipped(by), _) => Err(JobError::Skipped(id, by)),
            _ => Err(JobError::Cancelled(id)),
        }
    }
}

impl<T> Left<T> {
    /// A value is the user's, and its end may panic.
    fn discard(self) {
        if let Left::Value(value) = self {
            unwind::drop_quietly(value);
        }
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        let inside = self.inside.get_mut();
        inside.wakers.take().into_iter().flat_map(|mut wakers| wakers.take()).for_each(StoredWaker::discard);
        std::mem::replace(&mut inside.left, Left::Nothing).discard();
    }
}

/// One who waits for the end.
struct Waits<'a, T> {
    cell: &'a Cell<T>,
    place: Place,
}

impl<T> Drop for Waits<'_, T> {
    fn drop(&mut self) {
        let waker = self.cell.locked(|inside| inside.wakers.as_mut().and_then(|wakers| wakers.leave(self.place)));
        waker.into_iter().for_each(StoredWaker::discard);
    }
}
