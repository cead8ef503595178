//! Joining: the task is run on top of the caller, if it has not begun, or waited for.

use super::detach::let_go;
use super::result::take_result;
use super::wait::{take_back_waiter, wait_unwatched};
use super::{JoinHandle, TAKEN, TOO_EARLY};
use crate::api::error::JoinError;
use crate::api::time::{self, Instant};
use crate::record::current::CurrentTask;
use crate::record::header::Ended;
use crate::record::held::{Emptied, Finished, HeldTask};
use crate::record::payload;
use crate::record::task::{TaskRef, Unstarted};
use crate::sched::cancel::{checkpoint, deadlocked};
use crate::sched::pool::Pool;
use crate::sched::worker::{self, Role, Worker};
use crate::sched::{borrower, context, finish, lifecycle};
use myriad_base::sys::thread;
use std::time::Duration;

impl<T> JoinHandle<T> {
    /// Waits until the task has ended and returns its result.
    ///
    /// # Blocking
    /// If the task has not been started and is in this worker's queue, it runs right here, on top
    /// of the caller. Else the calling task is set aside (a foreign thread sleeps) until the task's
    /// end wakes it.
    ///
    /// # Errors
    /// [`JoinError`]: the task panicked, its runtime was shut down before it started or while it
    /// was blocked, it tried to join itself, or the caller cannot wait because there is no stack on
    /// which its worker could go on meanwhile ([`is_no_stack`](JoinError::is_no_stack)): then the
    /// task runs on, detached, and its result is dropped.
    ///
    /// # Examples
    /// ```
    /// let h = myriad::spawn(|| -> u32 { panic!("no") });
    /// assert!(h.join().unwrap_err().is_panic());
    /// ```
    // Not inlined: into a loop that joins one handle after the other it is some 60 instructions,
    // with branches that take turns, and the processor can no longer tell from those before which
    // way they go. That took half as long again.
    #[inline(never)]
    pub fn join(mut self) -> Result<T, JoinError> {
        let task = self.task.take().expect(TAKEN);
        let w = worker::current();
        match w {
            // (What an earlier poll of the handle has left is dropped first, on the longer way.)
            Some(w) if w.has_room() && task.task_ref().is_unwatched() => match w.deque().claim(task.task_ref()) {
                // SAFETY: it was claimed here, and nothing waits for its end.
                Some(claimed) => run_inline(w, unsafe { Claimed::new(claimed, task) }),
                None => wait_and_take(Some(w), task),
            },
            w => wait_and_take(w, task),
        }
    }

    /// Waits for the result, at most for `limit`.
    ///
    /// # Blocking
    /// Until the task has ended or the time is over. Unlike [`join`](Self::join) it never runs the
    /// task on top of the caller.
    ///
    /// # Cancellation
    /// A caller that is cancelled leaves at once, and detaches the task: the cancellation is not
    /// passed on.
    ///
    /// # Errors
    /// The time was over: the handle comes back, and the task runs on. Inside: as
    /// [`join`](Self::join); to join itself is an error at once.
    ///
    /// # Panics
    /// If there is no memory for a stack.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let h = myriad::spawn(|| myriad::time::sleep(Duration::from_secs(3600)));
    /// let h = h.join_timeout(Duration::from_millis(1)).unwrap_err();
    /// h.cancel();
    /// assert!(h.join().unwrap_err().is_cancelled());
    /// ```
    #[track_caller]
    pub fn join_timeout(self, limit: Duration) -> Result<Result<T, JoinError>, JoinHandle<T>> {
        self.join_deadline(time::now() + limit)
    }

    /// As [`join`](Self::join), until a point in time.
    ///
    /// # Errors
    /// As [`join_timeout`](Self::join_timeout).
    ///
    /// # Panics
    /// If there is no memory for a stack.
    #[track_caller]
    pub fn join_deadline(mut self, at: Instant) -> Result<Result<T, JoinError>, JoinHandle<T>> {
        if is_running(worker::current().as_deref(), self.task_ref()) {
            let error = JoinError::itself(self.spawned_at());
            return Ok(Err(error));
        }
        crate::api::block_on(time::deadline_async(at, &mut self)).map_err(|_| self)
    }
}

/// A task that the holder of its handle has claimed, to run it.
///
/// **Invariant.** Both are of one task, and nothing waits for its end: so nobody else uses the
/// record when it has run.
struct Claimed<T>(Unstarted, HeldTask<T>);

impl<T> Claimed<T> {
    /// # Safety
    /// `claimed` was claimed with `held`, and nothing waits for its end.
    #[inline(always)]
    unsafe fn new(claimed: Unstarted, held: HeldTask<T>) -> Claimed<T> {
        Claimed(claimed, held)
    }
}

/// Runs a claimed task on top of the caller and takes its result.
#[inline(always)]
fn run_inline<T>(w: Role, task: Claimed<T>) -> Result<T, JoinError> {
    let Claimed(claimed, held) = task;
    let record = claimed.address();
    let caller = w.running.replace(CurrentTask::of_task(record));
    // SAFETY: `caller` is what ran on this worker until now, and the task, which was claimed, runs
    // next. It has ended at the end of `run`, if that says so; nobody else uses the record then
    // (`Claimed`), which needs no atomics.
    unsafe {
        checkpoint::put_on_top(caller, record);
        // What is not as usual goes to the end of the function, for good: were it to come back
        // here, the usual way would keep in registers what only the other one needs.
        let w = match w.run_on_top(claimed) {
            (Ok(w), Ended::Returned | Ended::ReturnedPlain) => w,
            (Ok(w) | Err(w), ended) => return take_from_top(w, caller, held, ended),
        };
        w.running.set(caller);
        lifecycle::ends(record);
        let value = payload::take::<T>(record);
        finish::free_record(Some(&w), Emptied::from_raw(record));
        Ok(value)
    }
}

/// The end of [`run_inline`], where a context, a name, a wait or a panic makes it longer.
///
/// # Safety
/// `task` was [`Claimed`]. It has run on top of `caller`, which goes on, and come back with
/// `ended`; the role is that of before.
#[cold]
#[inline(never)]
unsafe fn take_from_top<T>(w: Role, caller: CurrentTask, task: HeldTask<T>, ended: Ended) -> Result<T, JoinError> {
    let mut w = w.refresh();
    if w.running.has_context() {
        w = context::end(w);
    }
    w.running.set(caller);
    // SAFETY: `caller` goes on here, and the task has run on top of it (this function's contract).
    unsafe { checkpoint::take_off_top(&w, caller, task.task_ref()) };
    // A scoped task completes itself; a future may not be ready yet.
    if ended == Ended::BySelf {
        return wait_and_take(Some(w), task);
    }
    let record = task.into_raw();
    lifecycle::ends(record);
    // SAFETY: the task has ended, and nobody else uses the record of one that was `Claimed`; what
    // `ended` says is the outcome.
    let finished = unsafe {
        (*record).set_outcome(lifecycle::outcome_of(ended));
        Finished::from_raw(record)
    };
    take_result(Some(&w), finished).map_err(passed_on)
}

#[cold]
#[inline(never)]
fn wait_and_take<T>(w: Option<Role>, task: HeldTask<T>) -> Result<T, JoinError> {
    let task = match task.finished() {
        Ok(finished) => return take_result(w.as_deref(), finished),
        Err(task) => task,
    };
    let location = task.task_ref().location();
    if is_running(w.as_deref(), task.task_ref()) {
        drop(JoinHandle::new(task));
        return Err(JoinError::itself(location));
    }
    // A waker goes before the claim: whoever runs the task on top of itself looks for none. With
    // none there, `join` has looked into the deque already.
    let is_watched = !task.task_ref().is_unwatched();
    let w = if is_watched { take_back_waiter(w, task.awaited()).0 } else { w };
    if let Some(here) = &w
        && here.has_room()
    {
        let found = if is_watched { here.deque().claim(task.task_ref()) } else { None };
        if let Some(claimed) = found.or_else(|| here.claim_queued(task.task_ref().header())) {
            // SAFETY: it was claimed here; what waited for its end, a waker, was taken out before.
            let claimed = unsafe { Claimed::new(claimed, task) };
            return run_inline(w.expect("a worker claims"), claimed);
        }
    }
    if w.is_none() {
        let pool = Pool::of_task(task.task_ref());
        if pool.is_elsewhere() {
            drop(JoinHandle::new(task));
            pool.expect_here();
            unreachable!("a runtime of another process is not here");
        }
    }
    match wait_unwatched::<true>(w, task.awaited()) {
        Ok(w) => {
            let finished = task.finished().unwrap_or_else(|task| left_in_deadlock(task));
            take_result(w.as_deref(), finished).map_err(passed_on)
        }
        Err(no_stack) => {
            drop(JoinHandle::new(task));
            Err(JoinError::no_stack(location, no_stack.to_string()))
        }
    }
}

/// A deadlock has ended the wait, and not the task: see `cancel::deadlocked`.
#[cold]
#[inline(never)]
fn left_in_deadlock<T, R>(task: HeldTask<T>) -> R {
    if !deadlocked::ever() {
        thread::abort_with(TOO_EARLY);
    }
    let_go(task.untyped());
    checkpoint::unwind_cancelled()
}

/// Is it the caller itself?
fn is_running(w: Option<&Worker>, task: TaskRef<'_>) -> bool {
    let me = w.map_or_else(|| borrower::me().cast_const(), Worker::running_record);
    std::ptr::eq(me, task.as_ptr())
}

/// A join brought an error. If that is the caller's own cancellation, which the join has passed on,
/// it arrives now.
#[cold]
fn passed_on(error: JoinError) -> JoinError {
    if error.is_cancelled() || error.is_deadlock() {
        checkpoint::check_anywhere();
    }
    error
}
