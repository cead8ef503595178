//! The handle of a task: joining, awaiting, detaching.

use super::ended;
use super::error::JoinError;
use super::id::TaskId;
use crate::api::time::{self, Instant};
use crate::queue::parked::Parked;
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::{DONE, Ended, Header, Outcome};
use crate::record::payload as record;
use crate::record::task::{TaskRef, Unstarted};
use crate::sched::cancel::{checkpoint, request};
use crate::sched::lifecycle;
use crate::sched::pool::Pool;
use crate::sched::unwind::Payload;
use crate::sched::worker::{self, Role, Worker, block_thread};
use crate::sched::{context, finish, lent, waker};
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::Ordering::*;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
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
pub struct JoinHandle<T> {
    /// `None` once the result was taken.
    task: Option<NonNull<Header>>,
    result: PhantomData<T>,
}

// SAFETY: a handle is the right to take a `T` out of the record, once; all shared words of the
// record are atomic.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: `&JoinHandle` only looks at atomic words and at the immutable place and name.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a record.
    ///
    /// # Safety
    /// The record's result is a `T`, and no other handle exists.
    #[inline(always)]
    pub(crate) unsafe fn new(task: *mut Header) -> JoinHandle<T> {
        // SAFETY: records are not null.
        JoinHandle { task: Some(unsafe { NonNull::new_unchecked(task) }), result: PhantomData }
    }

    #[inline(always)]
    pub(super) fn task(&self) -> *mut Header {
        self.task.expect("the handle's result was taken already").as_ptr()
    }

    /// The task.
    #[inline(always)]
    pub(super) fn task_ref(&self) -> TaskRef<'_> {
        // SAFETY: the handle keeps the record alive.
        unsafe { TaskRef::from_raw(self.task()) }
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
        let task = self.task();
        self.task = None;
        let w = worker::current();
        // SAFETY: the handle was the right to this record's result, and nobody else has it now.
        unsafe {
            match w {
                // (What an earlier poll of the handle has left is dropped first, on the longer
                // way.)
                Some(w) if w.has_room() && (*task).is_unwatched() => match w.deque().claim(TaskRef::from_raw(task)) {
                    Some(claimed) => run_inline(w, claimed),
                    None => wait_and_take(Some(w), task),
                },
                w => wait_and_take(w, task),
            }
        }
    }

    /// The handle itself, from behind a reference; what stays is empty.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> JoinHandle<T> {
        JoinHandle { task: self.task.take(), result: PhantomData }
    }

    /// Detaches the task. If it has ended, its result is dropped; the payload of its panic is the
    /// caller's.
    #[inline]
    pub(crate) fn give_up(mut self) -> Option<Payload> {
        let task = self.task.take()?.as_ptr();
        let w = worker::current();
        // SAFETY: the handle keeps the record alive until it is detached; on failure the task has
        // ended, and the record is ours to free.
        unsafe {
            if detach_newest(w.as_deref(), task) || (*task).detach() {
                return None;
            }
            let (w, none_left) = take_back_waiter(w, &*task);
            if none_left && (*task).detach() {
                return None;
            }
            if (*task).outcome.get() == Outcome::Panicked {
                let payload = record::take::<Payload>(task);
                finish::free(w.as_deref(), task);
                return Some(payload);
            }
            _ = finish::drop_outcome(w, task);
        }
        None
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
    pub fn cancel(&self) {
        if let Some(task) = self.task
            && !self.is_finished()
        {
            // SAFETY: the handle keeps the record alive.
            unsafe { request::cancel(task.as_ptr()) };
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
    pub fn join_timeout(self, limit: Duration) -> Result<Result<T, JoinError>, JoinHandle<T>> {
        self.join_deadline(time::now() + limit)
    }

    /// The same until a point in time.
    ///
    /// # Errors
    /// As [`join_timeout`](Self::join_timeout).
    ///
    /// # Panics
    /// If there is no memory for a stack.
    pub fn join_deadline(mut self, at: Instant) -> Result<Result<T, JoinError>, JoinHandle<T>> {
        if is_running(worker::current().as_deref(), self.task()) {
            let error = JoinError::itself(self.place());
            return Ok(Err(error));
        }
        super::block_on(time::deadline_async(at, &mut self)).map_err(|_| self)
    }

    /// Has the task ended? Never blocks.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the handle keeps the record alive.
        self.task.is_none_or(|task| unsafe { task.as_ref() }.is_done())
    }

    /// Where the task was spawned.
    pub fn place(&self) -> &'static Location<'static> {
        self.task_ref().place
    }

    /// The task's number. The task itself learns it from [`task::current`](super::current).
    pub fn id(&self) -> TaskId {
        TaskId::of(&self.task_ref())
    }

    /// The task's name, if it was given one.
    pub fn name(&self) -> Option<Arc<str>> {
        let task = self.task();
        // SAFETY: the handle keeps the record alive, whose `runtime` is its pool's number.
        unsafe { Pool::of((*task).runtime) }.name_of(task, true)
    }
}

/// Runs a claimed task on top of the caller and takes its result.
///
/// # Safety
/// The caller holds the task's handle, and gives up its right; the result is a `T`, and no waker is
/// left in the record.
#[inline(always)]
unsafe fn run_inline<T>(w: Role, claimed: Unstarted) -> Result<T, JoinError> {
    let task = claimed.address();
    let caller = w.running.replace(CurrentTask::of_task(task));
    // SAFETY: `caller` is what ran on this worker until now, and `task`, which was claimed (this
    // function's contract), runs next.
    unsafe { checkpoint::put_on_top(caller, task) };
    // SAFETY: `task` was claimed, so it is ours to run. Its handle's right is given up to us and no
    // waker is left (this function's contract), so nobody else uses the record at its end, which
    // needs no atomics.
    unsafe {
        let (w, ended) = w.run(claimed.into());
        // What is not as usual goes to the end of the function, for good: were it to come back
        // here, the usual way would keep in registers what only the other one needs.
        if w.running.has_context()
            || !(*task).is_plain_on_top()
            || !matches!(ended, Ended::Returned | Ended::ReturnedPlain)
        {
            return take_from_top(w, caller, task, ended);
        }
        w.running.set(caller);
        lifecycle::ends(task);
        let value = record::take::<T>(task);
        worker::free_record(Some(&w), task);
        Ok(value)
    }
}

/// The end of [`run_inline`], where a context, a name, a wait or a panic makes it longer.
///
/// # Safety
/// `task` was claimed by the holder of its handle, which gives up its right; its result is a `T`,
/// and no waker is left in the record. It has run on top of `caller`, which goes on, and come back
/// with `ended`.
#[cold]
#[inline(never)]
unsafe fn take_from_top<T>(w: Role, caller: CurrentTask, task: *mut Header, ended: Ended) -> Result<T, JoinError> {
    let mut w = w;
    if w.running.has_context() {
        w = context::end(w);
    }
    w.running.set(caller);
    // SAFETY: `task` has come back, and `caller` goes on; `ended` says what the payload is, and
    // nobody else uses the record of a task that has ended (this function's contract).
    unsafe {
        checkpoint::take_off_top(&w, caller, task);
        match ended {
            Ended::Returned | Ended::ReturnedPlain => {
                lifecycle::ends(task);
                let value = record::take::<T>(task);
                finish::free(Some(&w), task);
                Ok(value)
            }
            Ended::Panicked => {
                lifecycle::ends(task);
                (*task).outcome.set(Outcome::Panicked);
                Err(passed_on(take_error(Some(&w), task)))
            }
            // A scoped task completes itself; a future may not be ready yet.
            Ended::BySelf => wait_and_take(Some(w), task),
        }
    }
}

/// # Safety
/// The caller has the handle of `task`, whose result is a `T`, and gives up its right to it.
#[cold]
#[inline(never)]
unsafe fn wait_and_take<T>(w: Option<Role>, task: *mut Header) -> Result<T, JoinError> {
    // SAFETY: the right of the handle (this function's contract) keeps the record alive, and is
    // passed on once on each path: with the result, to the new handle that is dropped, or to
    // `run_inline`. That gets a task that was claimed, from which `take_back_waiter` has taken the
    // waker before.
    unsafe {
        if (*task).is_done() {
            return take_result(w.as_deref(), task);
        }
        if is_running(w.as_deref(), task) {
            let error = JoinError::itself((*task).place);
            drop(JoinHandle::<T>::new(task));
            return Err(error);
        }
        // A waker goes before the claim: whoever runs the task on top of itself looks for none.
        // With none there, `join` has looked into the deque already.
        let looks = !(*task).is_unwatched();
        let w = if looks { take_back_waiter(w, &*task).0 } else { w };
        if let Some(here) = &w
            && here.has_room()
        {
            let found = if looks { here.deque().claim(TaskRef::from_raw(task)) } else { None };
            if let Some(claimed) = found.or_else(|| here.claim_queued(&*task)) {
                return run_inline(w.expect("a worker claims"), claimed);
            }
        }
        if w.is_none() && Pool::of((*task).runtime).is_elsewhere() {
            drop(JoinHandle::<T>::new(task));
            Pool::of((*task).runtime).expect_here();
        }
        match wait_unwatched(w, &*task) {
            Ok(w) => take_result(w.as_deref(), task).map_err(passed_on),
            Err(no_stack) => {
                let error = JoinError::no_stack((*task).place, no_stack.to_string());
                drop(JoinHandle::<T>::new(task));
                Err(error)
            }
        }
    }
}

/// Is it the caller itself?
fn is_running(w: Option<&Worker>, task: *const Header) -> bool {
    let me = w.map_or_else(|| lent::me().cast_const(), Worker::running_record);
    std::ptr::eq(me, task)
}

/// A join brought an error. If that is the caller's own cancellation, which the join has passed on,
/// it arrives now.
#[cold]
fn passed_on(error: JoinError) -> JoinError {
    if error.is_cancelled() {
        checkpoint::check_anywhere();
    }
    error
}

/// A wait for the end of a task: who is cancelled meanwhile passes that on.
#[repr(C)]
pub(crate) struct JoinWait {
    node: Parked,
    task: *const Header,
}

// `pass_on` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(JoinWait, node) == 0);

impl JoinWait {
    /// Of the caller. It keeps the record alive as long as it waits.
    pub(crate) fn new(w: Option<&Worker>, task: *const Header) -> JoinWait {
        let wait =
            JoinWait { node: w.map_or_else(|| Parked::foreign(WaitReason::Join), |w| w.node(WaitReason::Join)), task };
        wait.node.end.set(Some(pass_on));
        wait
    }

    /// The node, as part of the whole wait: `pass_on` looks behind it.
    pub(crate) fn node(&self) -> *const Parked {
        std::ptr::from_ref(self).cast()
    }

    /// Waits.
    ///
    /// # Safety
    /// It is of this worker (or foreign thread), a stack is ensured, and the node is published, to
    /// be woken once.
    pub(crate) unsafe fn block(&self, w: Option<Role>) -> Option<Role> {
        match w {
            // SAFETY: a stack is ensured, and the node is published, to be woken once.
            Some(w) => Some(unsafe { w.suspend(self.node()) }),
            None => {
                // SAFETY: it is this thread's, and stands; the pointer is that of the whole.
                unsafe { block_thread(self.node()) };
                None
            }
        }
    }
}

/// The waiting task is cancelled: so is the one that it waits for.
///
/// # Safety
/// `node` is the node of a `JoinWait`, and points into the whole. The owner of that is blocked, and
/// does not go on before this returns.
unsafe fn pass_on(node: *const Parked) -> bool {
    // SAFETY: `node` is that of a `JoinWait`, which stands because its owner is blocked
    // (this function's contract); the owner keeps the record alive as long as it waits.
    unsafe { request::cancel((*node.cast::<JoinWait>()).task) };
    false
}

/// Waits until a task has ended. If the caller is cancelled meanwhile, so is that task.
///
/// # Errors
/// There is no memory for a stack on which the worker could go on meanwhile.
///
/// # Safety
/// The caller has the right to wait: it holds the handle of `task`, or the record is its own. `w`
/// is the calling worker.
pub(crate) unsafe fn wait_done(w: Option<Role>, task: &Header) -> Result<Option<Role>, NoStack> {
    if task.is_done() {
        return Ok(w);
    }
    // First: what is dropped here is user code, after which the worker may be another one.
    // SAFETY: the caller has the handle, or the record is its own (this function's contract).
    let (w, _) = unsafe { take_back_waiter(w, task) };
    // SAFETY: the same right; no waker is left.
    unsafe { wait_unwatched(w, task) }
}

/// The same, for who has looked for a waker that an earlier poll of the handle has left.
///
/// # Errors
/// As [`wait_done`].
///
/// # Safety
/// As [`wait_done`]; nobody waits for the end of `task`, but it may have come.
unsafe fn wait_unwatched(w: Option<Role>, task: &Header) -> Result<Option<Role>, NoStack> {
    if let Some(w) = &w {
        w.ensure_stack()?;
    }
    let wait = JoinWait::new(w.as_deref(), task);
    if task.wait(wait.node().cast_mut().cast()) {
        // SAFETY: a stack is ensured; the node is published, and woken once by the task's end.
        return Ok(unsafe { wait.block(w) });
        // The result is ordered by the inbox or the parker, or by program order.
    }
    Ok(w)
}

/// Takes the waker back that an earlier poll of the handle has left, and drops it. True: none is
/// left now; false: the task has ended.
///
/// # Safety
/// The caller has the handle of `task`, or the record is its own: so what waits there is a waker
/// that the handle has left, or nothing.
unsafe fn take_back_waiter(w: Option<Role>, task: &Header) -> (Option<Role>, bool) {
    let left = task.waiter.load(Acquire);
    if left.is_null() {
        return (w, true);
    }
    // Acquire on failure: it is DONE now; the outcome. Relaxed else: the word is ours again.
    if left == DONE || task.waiter.compare_exchange(left, std::ptr::null_mut(), Relaxed, Acquire).is_err() {
        return (w, false);
    }
    // SAFETY: `left` is a waker that the handle has left (this function's contract), and the
    // exchange took it out, so nobody else drops or wakes it.
    unsafe { waker::drop_waiter(left) };
    (w.map(Role::refresh), true)
}

/// Takes the result of a task that has ended, and frees its record.
///
/// # Safety
/// `task` has ended, its result is a `T`, and the caller gives up its right to that.
#[inline]
unsafe fn take_result<T>(w: Option<&Worker>, task: *mut Header) -> Result<T, JoinError> {
    // SAFETY: `task` has ended, so `outcome` says what the payload is; the caller gives up its
    // right (this function's contract), so nobody else uses the record.
    unsafe {
        if (*task).outcome.get() == Outcome::Returned {
            let value = record::take::<T>(task);
            finish::free(w, task);
            return Ok(value);
        }
        Err(take_error(w, task))
    }
}

/// # Safety
/// `task` has ended otherwise than by returning, and the caller gives up its right to the result.
#[cold]
unsafe fn take_error(w: Option<&Worker>, task: *mut Header) -> JoinError {
    // SAFETY: `task` has ended, so `outcome` says what the payload is; the caller gives up its
    // right (this function's contract), so nobody else uses the record. One that was left is not
    // freed.
    unsafe {
        let place = (*task).place;
        let name = Pool::of((*task).runtime).name_of(task, true).map(|name| name.to_string());
        let error = match (*task).outcome.get() {
            Outcome::Panicked => JoinError::panicked(record::take::<Payload>(task), place, name),
            Outcome::Left => {
                Pool::of((*task).runtime).forget_left();
                return JoinError::left(place, name);
            }
            _ => JoinError::shutdown(place, name),
        };
        finish::free(w, task);
        error
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    /// Ready when the task has ended; until then wakes the polling task at that end.
    ///
    /// # Panics
    /// If polled again after it was ready.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let task = self.task();
        // SAFETY: the handle keeps the record alive.
        unsafe {
            let header = &*task;
            if !header.is_done() {
                let left = header.waiter.load(Relaxed);
                if !left.is_null() && waker::is_same(left, cx.waker()) {
                    return Poll::Pending;
                }
                // The clone is user code, whose panic is the caller's: before anything is changed.
                let waiter = waker::to_waiter(cx.waker());
                let none_left = left.is_null() || take_back_waiter(worker::current(), header).1;
                if none_left && header.wait(waiter) {
                    return Poll::Pending;
                }
                waker::drop_waiter(waiter);
            }
            self.task = None;
            Poll::Ready(take_result(worker::current().as_deref(), task))
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(task) = self.task {
            // SAFETY: the handle's right, which ends here.
            unsafe { let_go(task.as_ptr()) };
        }
    }
}

/// Gives up a handle. (A call: inlined it made those slower who join or await theirs, a tenth for a
/// tree of futures.)
///
/// # Safety
/// The caller has the handle of `task`, and does not use it afterwards.
#[inline(never)]
unsafe fn let_go(task: *mut Header) {
    // SAFETY: the handle keeps the record alive until it is detached; on failure the task has
    // ended, and the record is ours to free.
    unsafe {
        let w = worker::current();
        if detach_newest(w.as_deref(), task) || (*task).detach() {
            return;
        }
        let (w, none_left) = take_back_waiter(w, &*task);
        if none_left && (*task).detach() {
            return;
        }
        ended::drop_ended(w, task);
    }
}

/// Gives up the handle of a task that the caller has just spawned, most often: if it is the one
/// that was queued last, nobody looks at its waiter before he has it from the queue.
///
/// # Safety
/// `w` is the calling worker. The caller has the handle of `task`, and does not use it afterwards
/// if the result is true.
#[inline(always)]
unsafe fn detach_newest(w: Option<&Worker>, task: *mut Header) -> bool {
    // SAFETY: the handle (this function's contract) keeps the record alive.
    w.is_some_and(|w| unsafe {
        (*task).is_unwatched() && w.change_newest(TaskRef::from_raw(task), || (*task).detach_alone())
    })
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct("JoinHandle");
        if self.task.is_some() {
            s.field("spawned_at", &self.place().to_string()).field("finished", &self.is_finished());
        }
        s.finish_non_exhaustive()
    }
}
