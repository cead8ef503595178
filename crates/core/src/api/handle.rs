//! The handle of a task: joining, awaiting, detaching.
//!
//! (Over 600 lines, of which nearly a third are comments: who has claimed the result of a task, and
//! who drops that, is one protocol, of which each method and the future are a part.)

use super::ended;
use super::error::JoinError;
use super::id::TaskId;
use crate::api::time::{self, Instant};
use crate::queue::parked::{BEHIND_NODE, Parked};
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, TaskFlags};
use crate::record::held::{Awaited, Emptied, Finished, HeldTask, Untyped};
use crate::record::payload;
use crate::record::task::{TaskRef, Unstarted};
use crate::runtime::dump::WhyWaiting;
use crate::sched::cancel::{checkpoint, deadlocked, is_left_in_deadlock, request};
use crate::sched::lifecycle;
use crate::sched::pool::Pool;
use crate::sched::unwind::Payload;
use crate::sched::wait::Caller;
use crate::sched::worker::{self, Role, Worker};
use crate::sched::{borrower, context, finish, waker};
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::thread;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// The right to a task's result. Dropping it detaches the task: it runs on, and its result is
/// dropped.
///
/// If the task has ended its result is dropped right here. A result may hold the handle of another
/// task that has ended, and so on: where the stack has little room left, a task of the same pool
/// drops the rest, and a thread for blocking calls that of a foreign thread. (Handles of a scope's
/// tasks are dropped within each other, as deep as they are.)
///
/// Also a future of the same `Result`. May be sent to, and joined from, any task or thread.
///
/// # Examples
/// ```
/// let h = myriad::spawn(|| 6 * 7);
/// assert_eq!(h.join().unwrap(), 42);                        // a call that waits
/// let h = myriad::spawn(|| 6 * 7);
/// assert_eq!(myriad::block_on(async { h.await.unwrap() }), 42); // or a future
/// drop(myriad::spawn(|| println!("on its own")));           // detached
/// ```
pub struct JoinHandle<T> {
    /// `None` once the result was taken.
    task: Option<HeldTask<T>>,
}

// SAFETY: a handle is the right to take a `T` out of the record, once; all shared words of the
// record are atomic.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: `&JoinHandle` only looks at atomic words and at the immutable place and name.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a task.
    #[inline(always)]
    pub(crate) fn new(task: HeldTask<T>) -> JoinHandle<T> {
        JoinHandle { task: Some(task) }
    }

    /// The task.
    #[inline(always)]
    #[track_caller]
    pub(super) fn task_ref(&self) -> TaskRef<'_> {
        self.task.as_ref().expect(TAKEN).task_ref()
    }

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

    /// The handle itself, from behind a reference; what stays is empty.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> JoinHandle<T> {
        JoinHandle { task: self.task.take() }
    }

    /// Detaches the task. If it has ended, its result is dropped; the payload of its panic is the
    /// caller's.
    #[inline]
    pub(crate) fn give_up(mut self) -> Option<Payload> {
        let (w, task) = detach(self.task.take()?)?;
        match task.into_panic() {
            Ok((payload, record)) => {
                finish::free(w.as_deref(), record);
                Some(payload)
            }
            Err(task) => {
                _ = finish::drop_outcome(w, task.untyped());
                None
            }
        }
    }

    /// Cancels the task: it ends at its next blocking point, by unwinding, or never begins. See
    /// [`cancel`](crate::cancel).
    ///
    /// Nothing happens if it has ended. To join it afterwards brings an error that
    /// [is a cancellation](JoinError::is_cancelled), or its result, if it was faster.
    ///
    /// # Blocking
    /// Never blocks; it does not wait for the task.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let h = myriad::spawn(|| myriad::time::sleep(Duration::from_secs(3600)));
    /// h.cancel();
    /// assert!(h.join().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        if let Some(task) = &self.task
            && !self.is_finished()
        {
            request::cancel(task.task_ref());
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
        super::block_on(time::deadline_async(at, &mut self)).map_err(|_| self)
    }

    /// Why the task has not ended: what it waits for; if that is a task, what that one waits for,
    /// and so on. `None` if it has ended.
    ///
    /// For messages: after [`join_timeout`](Self::join_timeout), which gives the handle back. Says
    /// what was so at a moment.
    ///
    /// # Blocking
    /// As [`dump`](crate::dump()), whose price this has.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let (_tx, rx) = myriad::channel::unbounded::<u32>();
    /// let reader = myriad::task::Builder::new().name("reader").spawn(move || rx.recv());
    /// let late = reader.join_timeout(Duration::from_millis(200)).unwrap_err();
    /// let why = late.why_waiting().unwrap().to_string();
    /// assert!(why.starts_with("task 'reader'") && why.contains(" waits for a message"), "{why}");
    /// ```
    #[track_caller]
    pub fn why_waiting(&self) -> Option<WhyWaiting> {
        if self.is_finished() { None } else { WhyWaiting::of(self.task_ref().as_ptr().addr()) }
    }

    /// Has the task ended? Never blocks.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(|task| task.task_ref().is_done())
    }

    /// Where the task was spawned.
    #[track_caller]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task_ref().location()
    }

    /// The task's number. The task itself learns it from [`task::current`](super::current).
    #[track_caller]
    pub fn id(&self) -> TaskId {
        TaskId::of(&self.task_ref())
    }

    /// The task's name, if it was given one.
    #[track_caller]
    pub fn name(&self) -> Option<Arc<str>> {
        let task = self.task_ref();
        Pool::of_task(task).name_of(task.as_ptr(), true)
    }
}

const TAKEN: &str = "the handle's result was taken already";

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

const TOO_EARLY: &str = "a join was woken before its task has ended (a bug in Myriad)";

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

/// A wait for the end of a task: who is cancelled meanwhile passes that on.
#[repr(C)]
pub(crate) struct JoinWait<'a> {
    node: Parked,
    task: TaskRef<'a>,
}

// `pass_on` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(JoinWait<'_>, node) == 0);
// `queue::look` finds the task there.
const _: () = assert!(std::mem::offset_of!(JoinWait<'_>, task) == BEHIND_NODE);

impl<'a> JoinWait<'a> {
    /// Of the caller.
    pub(crate) fn new(w: Option<&Worker>, task: TaskRef<'a>) -> JoinWait<'a> {
        let wait =
            JoinWait { node: w.map_or_else(|| Parked::foreign(WaitReason::Join), |w| w.node(WaitReason::Join)), task };
        wait.node.cancel_fn.set(Some(pass_on));
        wait
    }

    /// The node, as part of the whole wait: `pass_on` looks behind it.
    pub(crate) fn node(&self) -> *const Parked {
        std::ptr::from_ref(self).cast()
    }
}

/// The waiting task is cancelled: so is the one that it waits for.
///
/// # Safety
/// `node` is the node of a `JoinWait`, and points into the whole. The owner of that is blocked, and
/// does not go on before this returns.
unsafe fn pass_on(node: *const Parked) -> bool {
    // SAFETY: `node` is that of a `JoinWait`, which stands because its owner is blocked
    // (this function's contract).
    request::cancel(unsafe { (*node.cast::<JoinWait<'_>>()).task });
    false
}

/// The same of a wait that a deadlock may end.
///
/// # Safety
/// As for [`pass_on`].
unsafe fn pass_on_or_leave(node: *const Parked) -> bool {
    // SAFETY: as in `pass_on` (this function's contract).
    unsafe {
        let task = (*node.cast::<JoinWait<'_>>()).task;
        match is_left_in_deadlock(&task) {
            true => task.wait_no_longer(node.cast_mut().cast()),
            false => pass_on(node),
        }
    }
}

/// Waits until a task has ended. If the caller is cancelled meanwhile, so is that task.
///
/// # Errors
/// There is no memory for a stack on which the worker could go on meanwhile.
pub(crate) fn wait_done(w: Option<Role>, task: Awaited<'_>) -> Result<Option<Role>, NoStack> {
    if task.task_ref().is_done() {
        return Ok(w);
    }
    // First: what is dropped here is user code, after which the worker may be another one.
    let (w, _) = take_back_waiter(w, task);
    wait_unwatched::<false>(w, task)
}

/// The same, for who has looked for a waker that an earlier poll of the handle has left: nobody
/// waits for the end of `task`, but it may have come. `LEAVES`: a deadlock may end the wait, too.
/// (Inlined: else `worker::block` is, in each of the two, and a future that is joined pays for it.)
///
/// # Errors
/// As [`wait_done`].
#[inline(always)]
fn wait_unwatched<const LEAVES: bool>(w: Option<Role>, task: Awaited<'_>) -> Result<Option<Role>, NoStack> {
    if let Some(w) = &w {
        w.ensure_stack()?;
    }
    let wait = JoinWait::new(w.as_deref(), task.task_ref());
    if LEAVES {
        wait.node.cancel_fn.set(Some(pass_on_or_leave));
    }
    if task.task_ref().wait(wait.node().cast_mut().cast()) {
        // SAFETY: a stack is ensured; the node is published, and woken once by the task's end.
        return Ok(unsafe { worker::block(w, wait.node()) });
        // The result is ordered by the inbox or the parker, or by program order.
    }
    Ok(w)
}

/// Takes the waker back that an earlier poll of the handle has left, and drops it. True: none is
/// left now; false: the task has ended.
fn take_back_waiter(w: Option<Role>, task: Awaited<'_>) -> (Option<Role>, bool) {
    let (left, none_left) = task.take_waker();
    let Some(left) = left else { return (w, none_left) };
    waker::drop_waiter(left);
    (w.map(Role::refresh), none_left)
}

/// Takes the result of a task that has ended, and frees its record. (As a call it takes 24
/// instructions of a `JoinSet`'s 955 for each of its tasks.)
#[inline(always)]
fn take_result<T>(w: Option<&Worker>, task: Finished<T>) -> Result<T, JoinError> {
    match task.into_value() {
        Ok((value, record)) => {
            finish::free(w, record);
            Ok(value)
        }
        Err(task) => Err(take_error(w, task.untyped())),
    }
}

/// Of a task that has ended otherwise than by returning.
#[cold]
fn take_error(w: Option<&Worker>, task: Finished<Untyped>) -> JoinError {
    let location = task.task_ref().location();
    let pool = Pool::of_task(task.task_ref());
    // (Without a name no look at the table, which is under a lock.)
    let is_named = task.task_ref().has_flags(TaskFlags::NAMED);
    let name = is_named.then(|| pool.name_of(task.task_ref().as_ptr(), true)).flatten().map(|name| name.to_string());
    match task.into_panic() {
        Ok((payload, record)) => {
            finish::free(w, record);
            JoinError::panicked(payload, location, name)
        }
        Err(task) => match task.into_nothing() {
            Ok(Some(record)) => {
                finish::free(w, record);
                JoinError::shutdown(location, name)
            }
            _ => {
                pool.forget_left();
                JoinError::left(location, name)
            }
        },
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// Ready when the task has ended; until then wakes the polling task at that end.
    ///
    /// # Panics
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let task = match self.task.take().expect(TAKEN).finished() {
            Ok(finished) => return Poll::Ready(take_result(worker::current().as_deref(), finished)),
            // (Back at once: the clone may panic.)
            Err(task) => &*self.task.insert(task),
        };
        let left = task.task_ref().waiter(Relaxed);
        let joined = task.task_ref().as_ptr().cast_const().cast();
        if !left.is_null() && waker::is_same(left.addr(), cx.waker()) {
            Caller::get().note_await(WaitReason::Join, joined);
            return Poll::Pending;
        }
        // The clone is user code, whose panic is the caller's: before anything is changed.
        let waiter = waker::to_waiter(cx.waker());
        let none_left = left.is_null() || take_back_waiter(worker::current(), task.awaited()).1;
        let waiter = if none_left { waiter.leave_in(task.awaited()) } else { Err(waiter) };
        let Err(waiter) = waiter else {
            Caller::get().note_await(WaitReason::Join, joined);
            return Poll::Pending;
        };
        waker::drop_waiter(waiter);
        let task = self.task.take().expect(TAKEN);
        let finished = task.finished().unwrap_or_else(|_| thread::abort_with(TOO_EARLY));
        Poll::Ready(take_result(worker::current().as_deref(), finished))
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            let_go(task.untyped());
        }
    }
}

/// Gives up a handle. (A call: inlined it made those slower who join or await theirs, a tenth for a
/// tree of futures.)
#[inline(never)]
fn let_go(task: HeldTask<Untyped>) {
    if let Some((w, finished)) = detach(task) {
        ended::drop_ended(w, finished);
    }
}

/// Gives up a task, which runs on, detached; or, if it has ended, hands out what it has left.
///
/// Most often the caller has just spawned it: if it is the one that was queued last, nobody looks
/// at its waiter before he has it from the queue.
#[inline(always)]
fn detach<T>(task: HeldTask<T>) -> Option<(Option<Role>, Finished<T>)> {
    let w = worker::current();
    let is_newest = |w: &Role| {
        let task = task.task_ref();
        task.is_unwatched() && w.change_newest(task, || task.detach_alone())
    };
    if w.as_ref().is_some_and(is_newest) {
        return None;
    }
    let task = task.detach().err()?;
    let (w, none_left) = take_back_waiter(w, task.awaited());
    let task = if none_left { task.detach().err()? } else { task };
    Some((w, task.finished().unwrap_or_else(|_| thread::abort_with(TOO_EARLY))))
}

impl<T> JoinHandle<T> {
    /// For `Debug`, under this name. (No name and no number of the task: those are under a lock.)
    pub(super) fn show(&self, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct(what);
        match self.task.is_some() {
            true => {
                s.field("spawned_at", &format_args!("{}", self.spawned_at())).field("finished", &self.is_finished())
            }
            false => s.field("taken", &true),
        };
        s.finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show("JoinHandle", f)
    }
}
