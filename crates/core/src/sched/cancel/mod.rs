//! Cancellation: asking a task to end, and its unwinding. What users are promised stands in
//! [`crate::cancel`].
pub(crate) mod cancel_scope;
pub(crate) mod checkpoint;
pub(crate) mod deadlocked;
pub(crate) mod request;
mod scan;
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod scoped_tasks;
pub(crate) mod thread;

use crate::record::header::{Header, Kind, TaskFlags};
use crate::sched::pool::Pool;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code;
use crate::sched::worker::{self, Worker};
use cancel_scope::{CancelScope, Key, Unwinding};
use deadlocked::DoomedTask;
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// In a model: the parts of the protocol.
#[cfg(all(test, loom))]
pub mod model {
    use super::checkpoint;
    use crate::queue::parked::Parked;
    use crate::record::header::{Header, TaskFlags};
    use crate::record::position;
    use myriad_base::sys::atomic::Ordering::*;

    /// As a task that blocks. True: there is a flag.
    pub fn begin_wait(task: &Header, node: *const Parked) -> bool {
        checkpoint::begin_wait(task, position::at(position::here(0), node))
    }
    /// As a task that goes on.
    pub fn leave(task: &Header) {
        checkpoint::leave_fiber(task);
    }
    /// As a task that blocks, in threads mode. True: its wait has ended, by a flag.
    ///
    /// # Safety
    /// The node is its wait's, and stands until it has left.
    pub unsafe fn begin_wait_held(task: &Header, node: *const Parked) -> bool {
        // SAFETY: the node is that of `task`'s wait, and stands until `task` has left it (this
        // function's contract).
        unsafe { checkpoint::enter_held(task, position::at(position::here(0), node), node) }
    }
    /// As a task that goes on, in threads mode.
    pub fn leave_held(task: &Header) {
        checkpoint::leave_held(task);
    }
    /// As a canceller in threads mode, who has marked it.
    ///
    /// # Safety
    /// `task` is a header of the model's, whose waits stand until it has left them.
    pub unsafe fn deliver_anywhere(task: &Header) {
        super::request::deliver_anywhere(task);
    }
    /// As a canceller.
    pub fn mark(task: &Header) {
        task.flags().fetch_or(TaskFlags::CANCELLED, AcqRel);
    }
    /// Is it marked?
    pub fn is_flagged(task: &Header) -> bool {
        task.flags().load(Acquire) & TaskFlags::CANCELLED != 0
    }
    /// Where it waits, as its home sees it.
    pub fn waits_at(task: &Header) -> Option<*const Parked> {
        match position::read(task.idx().load(Relaxed)) {
            position::Position::Waits(_, node) => Some(node.cast()),
            _ => None,
        }
    }
}

/// What a cancelled task unwinds with.
///
/// # Examples
/// ```
/// use myriad::cancel::{Cancelled, Token, check};
/// use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
/// let token = Token::new();
/// let result = token.run(|| {
///     token.cancel();
///     let payload = catch_unwind(AssertUnwindSafe(check)).unwrap_err();
///     assert!(payload.is::<Cancelled>());
///     resume_unwind(payload)
/// });
/// assert!(result.map(|()| ()).is_err());
/// ```
pub struct Cancelled {
    /// Whose unwinding it is, while that goes on.
    unwinding: Option<Unwinding>,
}

// SAFETY: the key is compared, and followed only by the task that it belongs to.
unsafe impl Send for Cancelled {}
// SAFETY: nothing is done through `&Cancelled`.
unsafe impl Sync for Cancelled {}

impl Cancelled {
    /// The calling task begins to unwind.
    fn new() -> Cancelled {
        Cancelled { unwinding: Some(cancel_scope::begin_unwinding()) }
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if let Some(unwinding) = self.unwinding {
            cancel_scope::end_unwinding(unwinding);
        }
    }
}

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cancelled")
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task was cancelled")
    }
}

impl std::error::Error for Cancelled {}

/// The panic of the running task, if a deadlock ends it, and no smaller part of it is cancelled.
#[cold]
fn deadlock_of_current() -> Option<Payload> {
    if !deadlocked::ever() {
        return None;
    }
    let w = worker::current()?;
    let task = w.task()?;
    let is_whole = cancel_scope::cancelled(Key::of(&task)) == Some(cancel_scope::Extent::Task);
    is_whole.then(|| deadlock_of(&task)).flatten()
}

/// The panic of this task, which runs here, if a deadlock ends it: the mark goes with it.
#[cold]
pub(crate) fn deadlock_of(task: &Header) -> Option<Payload> {
    if !deadlocked::ever() {
        return None;
    }
    let payload = doomed(task).and_then(deadlocked::take)?;
    // Relaxed: of the task that runs here.
    task.flags().fetch_and(!TaskFlags::CANCELLED, Relaxed);
    Some(payload)
}

/// Does who joins this task, and is marked by a deadlock, wait no longer?
#[cold]
pub(crate) fn is_left_in_deadlock(task: &Header) -> bool {
    deadlocked::ever() && doomed(task).is_some_and(deadlocked::is_left)
}

/// As whom a deadlock knows this task; `None`: not at all.
fn doomed(task: &Header) -> Option<DoomedTask> {
    if task.kind().has(Kind::ON_STACK) {
        return Some(DoomedTask::Frame(std::ptr::from_ref(task).addr()));
    }
    if !task.has_flags(TaskFlags::NUMBERED) {
        return None;
    }
    // SAFETY: the number of its pool stands in the record of a task.
    let id = unsafe { Pool::of(task.runtime()) }.number_of(task)?;
    Some(DoomedTask::Heap(id.as_u64()))
}

/// What a task that never began leaves.
#[cold]
pub fn cancellation() -> Payload {
    Box::new(Cancelled { unwinding: None })
}

/// What a future that was cancelled leaves: it was dropped, and nothing unwound. Without memory of
/// its own, which one worker would allocate and another one free, for each. Whoever lets it go on
/// unwinds with a [`Cancelled`].
struct Dropped;

/// What a future that was cancelled leaves.
#[cold]
pub(crate) fn cancellation_of_future() -> Payload {
    Box::new(Dropped)
}

/// A task was cancelled before it began: drops its closure.
pub(crate) fn never_start<F, T>(f: F) -> Result<T, Payload> {
    let mut f = Some(f);
    Err(drop_shielded(&mut || drop(f.take())))
}

/// Drops the closure of a task that was cancelled before it began: compiled once.
#[cold]
#[inline(never)]
fn drop_shielded(drop: &mut dyn FnMut()) -> Payload {
    // The destructor is the task's own code: its panic is the task's. It may block, in peace.
    user_code::call(drop).err().unwrap_or_else(cancellation)
}

/// Did this unwind because of a cancellation?
pub fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>() || payload.is::<Dropped>()
}

/// An unwinding has stopped here; its payload may go to another task now.
pub fn end_cancellation(payload: &mut Payload) {
    if let Some(cancelled) = payload.downcast_mut::<Cancelled>()
        && let Some(unwinding) = cancelled.unwinding.take()
    {
        cancel_scope::end_unwinding(unwinding);
    }
}

/// An unwinding goes on here: the contrary of [`end_cancellation`].
pub(crate) fn resume_cancellation(payload: &mut Payload) {
    // What a deadlock has ended, by way of a part of it, says so.
    if is_cancellation(payload)
        && let Some(panic) = deadlock_of_current()
    {
        end_cancellation(payload);
        *payload = panic;
    }
    if payload.is::<Dropped>() {
        *payload = cancellation();
    }
    if let Some(cancelled) = payload.downcast_mut::<Cancelled>()
        && cancelled.unwinding.is_none()
    {
        cancelled.unwinding = Some(cancel_scope::begin_unwinding());
    }
}

/// Is the calling task cancelled, here and now? For code that computes, and cannot be interrupted.
///
/// Also in a foreign thread, of a cancelled cancel scope; else false there.
///
/// # Blocking
/// Never blocks, and never unwinds.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let h = myriad::spawn(|| {
///     let mut n = 0u64;
///     while !myriad::cancel::is_cancelled() {
///         n += 1; // computes
///     }
///     n
/// });
/// std::thread::sleep(Duration::from_millis(1));
/// h.cancel();
/// match h.join() {
///     Ok(n) => println!("counted to {n}"),
///     Err(error) => assert!(error.is_cancelled()), // `cancel` came before the task began
/// }
/// ```
pub fn is_cancelled() -> bool {
    match worker::current() {
        Some(w) => {
            if w.task().is_none() {
                return false;
            }
            // Requests of scopes are still in the inbox.
            request::serve_now(&w);
            scoped_tasks::check_scope(w.runs_here());
            cancel_scope::is_cancelled(Key::current())
        }
        None => thread::is_cancelled(),
    }
}

/// A blocking point that does not wait: if the calling task is cancelled, it unwinds.
///
/// # Panics
/// Not with a panic, but it unwinds.
///
/// # Examples
/// ```
/// let task = myriad::spawn(|| {
///     loop {
///         std::hint::spin_loop(); // computes
///         myriad::cancel::check();
///     }
/// });
/// task.cancel();
/// assert!(task.join().map(|()| ()).unwrap_err().is_cancelled());
/// ```
#[doc(alias = "checkpoint")]
#[doc(alias = "ensure_active")]
pub fn check() {
    match worker::current() {
        Some(w) => {
            request::serve_now(&w);
            checkpoint::check(&w);
        }
        None => checkpoint::check_anywhere(),
    }
}

/// The task has ended, and what is left are its destructors: nothing cancels it any more, whatever
/// was entered before. Limits that these enter themselves work.
pub(crate) fn keep_off_for_good(task: &Header) {
    cancel_scope::forget_earlier(Key::of(task));
    // Relaxed: asked by the task itself, or by its home while it is blocked.
    task.flags().fetch_or(TaskFlags::UNWINDING, Relaxed);
}

/// Cancellations are kept off until [`end`](HeldOff::end), which is called.
#[derive(Debug)]
#[must_use = "the task is never cancelled again"]
pub(crate) struct HeldOff(Key);

/// As [`shield`], for user code that runs in the middle of something: no cancel scope, only a
/// count, so that it costs two changes of a byte in the usual case. `w` is the calling worker.
#[inline(always)]
pub(crate) fn hold_off(w: Option<&Worker>) -> HeldOff {
    HeldOff(cancel_scope::keep_off(w))
}

impl HeldOff {
    /// By the same task or thread.
    #[inline(always)]
    pub(crate) fn end(self) {
        cancel_scope::let_come(self.0);
    }
}

/// Runs `f`, and keeps cancellations off: those from outside arrive after it. For clean-up that
/// blocks.
///
/// Limits within `f` work: `shield(|| timeout(second, || goodbye()))`.
///
/// # Blocking
/// As `f`; never by itself. The end of a shield is no blocking point.
///
/// # Panics
/// If `f` does.
///
/// # Examples
/// ```
/// use myriad::cancel;
/// let answer = cancel::shield(|| 6 * 7);
/// assert_eq!(answer, 42);
/// ```
#[doc(alias = "uncancellable")]
#[doc(alias = "NonCancellable")]
#[doc(alias = "WithoutCancel")]
pub fn shield<R>(f: impl FnOnce() -> R) -> R {
    let mut cancel_scope = CancelScope::new(true, myriad_base::sys::clock::Instant::NEVER);
    cancel_scope.enter();
    let result = user_code::body(f);
    cancel_scope.leave();
    result.unwrap_or_else(|payload| unwind::resume(payload))
}
