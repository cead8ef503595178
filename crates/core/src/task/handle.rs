//! The handle of a task: joining, awaiting, detaching.

use super::context::{self, Word};
use super::error::JoinError;
use super::header::{DONE, Ended, Header, Mode, Outcome};
use super::id::TaskId;
use super::{dedicated, finish, record, waker};
use crate::runtime::hub::Hub;
use crate::sched::node::Node;
use crate::sched::worker::{self, Worker, block_thread};
use crate::sys::atomic::Ordering::*;
use crate::unwind::Payload;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The right to a task's result. Dropping it detaches the task: it runs on, and its result is dropped.
///
/// Also a future of the same `Result`. May be sent to, and joined from, any task or thread.
pub struct JoinHandle<T> {
    /// `None` once the result was taken.
    task: Option<NonNull<Header>>,
    result: PhantomData<T>,
}

// SAFETY: a handle is the right to take a `T` out of the record, once; all shared words of the record are atomic.
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
    fn task(&self) -> *mut Header {
        self.task.expect("the handle's result was taken already").as_ptr()
    }

    /// Waits until the task has ended and returns its result.
    ///
    /// # Blocking
    /// If the task has not been started and is in this worker's queue, it runs right here, on top of the caller. Else the
    /// calling task is set aside (a foreign thread sleeps) until the task's end wakes it.
    ///
    /// # Errors
    /// [`JoinError`]: the task panicked, its runtime was shut down before it started, it tried to join itself, or the caller
    /// cannot wait because there is no stack on which its worker could go on meanwhile
    /// ([`is_no_stack`](JoinError::is_no_stack)): then the task runs on, detached, and its result is dropped.
    ///
    /// # Examples
    /// ```
    /// let h = myriad_core::spawn(|| -> u32 { panic!("no") });
    /// assert!(h.join().unwrap_err().is_panic());
    /// ```
    #[inline]
    pub fn join(mut self) -> Result<T, JoinError> {
        let task = self.task();
        self.task = None;
        let w = worker::current();
        // SAFETY: the handle was the right to this record's result, and nobody else has it now.
        unsafe {
            if let Some(w) = w
                && w.has_room()
                && w.member.deque.claim(&*task)
            {
                return run_inline(w, task);
            }
            wait_and_take(w, task)
        }
    }

    /// The handle itself, from behind a reference; what stays is empty.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> JoinHandle<T> {
        JoinHandle { task: self.task.take(), result: PhantomData }
    }

    /// Detaches the task. If it has ended, its result is dropped; the payload of its panic is the caller's.
    #[inline]
    pub(crate) fn give_up(mut self) -> Option<Payload> {
        let task = self.task.take()?.as_ptr();
        // SAFETY: the handle keeps the record alive until it is detached; on failure the task has ended, and the record
        // is ours to free.
        unsafe {
            if (*task).detach() || take_back_waiter(&*task) && (*task).detach() {
                return None;
            }
            let w = worker::current();
            if (*task).outcome == Outcome::Panicked {
                let payload = record::take::<Payload>(task);
                finish::free(w, task);
                return Some(payload);
            }
            finish::drop_outcome(w, task);
        }
        None
    }

    /// Has the task ended? Never blocks.
    pub fn is_finished(&self) -> bool {
        // SAFETY: the handle keeps the record alive.
        self.task.is_none_or(|task| unsafe { task.as_ref() }.is_done())
    }

    /// Where the task was spawned.
    pub fn place(&self) -> &'static Location<'static> {
        // SAFETY: the handle keeps the record alive; `place` does not change.
        unsafe { (*self.task()).place }
    }

    /// The task's number. The task itself learns it from [`task::current`](super::current).
    pub fn id(&self) -> TaskId {
        // SAFETY: the handle keeps the record alive.
        unsafe { TaskId::of(self.task()) }
    }

    /// The task's name, if it was given one.
    pub fn name(&self) -> Option<Arc<str>> {
        let task = self.task();
        // SAFETY: the handle keeps the record alive.
        Hub::of(unsafe { (*task).runtime }).name_of(task, true)
    }
}

/// Runs a claimed task on top of the caller and takes its result.
///
/// # Safety
/// The task was claimed by the holder of its handle, which gives up its right.
#[inline(always)]
unsafe fn run_inline<T>(w: &'static Worker, task: *mut Header) -> Result<T, JoinError> {
    let (caller, identity) = (w.running.replace(Word::of_task(task)), w.identity.replace(0));
    // SAFETY: the caller: the task is ours to run; nobody else knows the record now, so its end needs no atomics.
    unsafe {
        let mut ended = ((*task).run)(task, Mode::Run);
        let mut w = w.still();
        if w.running.has_context() {
            ended = context::end_then(ended);
            w = w.still();
        }
        w.running.set(caller);
        w.identity.set(identity);
        match ended {
            Ended::Returned | Ended::ReturnedPlain => {
                let value = record::take::<T>(task);
                finish::free(Some(w), task);
                Ok(value)
            }
            Ended::Panicked => {
                (*task).outcome = Outcome::Panicked;
                Err(take_error(Some(w), task))
            }
            // A scoped task completes itself; a future may not be ready yet.
            Ended::BySelf => wait_and_take(Some(w), task),
        }
    }
}

/// # Safety
/// The caller gives up its right to the record's result.
#[cold]
#[inline(never)]
unsafe fn wait_and_take<T>(w: Option<&'static Worker>, task: *mut Header) -> Result<T, JoinError> {
    // SAFETY: the caller's right keeps the record alive.
    unsafe {
        let me = w.map_or_else(|| dedicated::me().cast_const(), |w| w.running.get().record());
        if std::ptr::eq(me, task) {
            let error = JoinError::itself((*task).place);
            drop(JoinHandle::<T>::new(task));
            return Err(error);
        }
        if let Err(no_stack) = wait_done(w, &*task) {
            let error = JoinError::no_stack((*task).place, no_stack.to_string());
            drop(JoinHandle::<T>::new(task));
            return Err(error);
        }
        take_result(w.map(Worker::still), task)
    }
}

/// Waits until a task has ended.
///
/// # Errors
/// There is no memory for a stack on which the worker could go on meanwhile.
///
/// # Safety
/// The caller has the right to wait: it holds the task's handle, or the record is its own.
pub(crate) unsafe fn wait_done(w: Option<&'static Worker>, task: &Header) -> Result<(), crate::stack::pool::NoStack> {
    if task.is_done() {
        return Ok(());
    }
    if let Some(w) = w {
        w.ensure_stack()?;
    }
    // SAFETY: what waits there is what this handle left when it was polled.
    unsafe { take_back_waiter(task) };
    let node = w.map_or_else(|| Node::new(None), Worker::node);
    if task.wait((&raw const node).cast_mut().cast()) {
        match w {
            // SAFETY: a stack is ensured; the node is published, and woken once by the task's end.
            Some(w) => unsafe { w.suspend(&node) },
            None => block_thread(&node),
        }
        // The result is ordered by the inbox or the gate, or by program order.
    }
    Ok(())
}

/// Takes the waker back that an earlier poll of the handle has left. True: none is left now; false: the task has ended.
///
/// # Safety
/// The caller has the task's handle.
unsafe fn take_back_waiter(task: &Header) -> bool {
    let left = task.waiter.load(Acquire);
    if left.is_null() {
        return true;
    }
    // Acquire on failure: it is DONE now; the outcome. Relaxed else: the word is ours again.
    if left == DONE || task.waiter.compare_exchange(left, std::ptr::null_mut(), Relaxed, Acquire).is_err() {
        return false;
    }
    // SAFETY: we took it out.
    unsafe { waker::drop_waiter(left) };
    true
}

/// Takes the result of a task that has ended, and frees its record.
///
/// # Safety
/// The task has ended, and the caller gives up its right to the result.
#[inline]
unsafe fn take_result<T>(w: Option<&'static Worker>, task: *mut Header) -> Result<T, JoinError> {
    // SAFETY: the caller.
    unsafe {
        if (*task).outcome == Outcome::Returned {
            let value = record::take::<T>(task);
            finish::free(w, task);
            return Ok(value);
        }
        Err(take_error(w, task))
    }
}

/// # Safety
/// As for `take_result`, of a task that did not return.
#[cold]
unsafe fn take_error(w: Option<&'static Worker>, task: *mut Header) -> JoinError {
    // SAFETY: the caller.
    unsafe {
        let place = (*task).place;
        let name = Hub::of((*task).runtime).name_of(task, true).map(|name| name.to_string());
        let error = if (*task).outcome == Outcome::Panicked {
            JoinError::panicked(record::take::<Payload>(task), place, name)
        } else {
            JoinError::shutdown(place, name)
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
                if !left.is_null() && waker::is_same_task(left, cx.waker()) {
                    return Poll::Pending;
                }
                if take_back_waiter(header) {
                    let waiter = waker::to_waiter(cx.waker());
                    if header.wait(waiter) {
                        return Poll::Pending;
                    }
                    waker::drop_waiter(waiter);
                }
            }
            self.task = None;
            Poll::Ready(take_result(worker::current(), task))
        }
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let Some(task) = self.task else { return };
        let task = task.as_ptr();
        // SAFETY: the handle keeps the record alive until it is detached; on failure the task has ended, and the record
        // is ours to free.
        unsafe {
            if (*task).detach() {
                return;
            }
            if take_back_waiter(&*task) && (*task).detach() {
                return;
            }
            if (*task).outcome == Outcome::Panicked {
                super::unhandled::report(Hub::of((*task).runtime), task);
            }
            finish::drop_outcome(worker::current(), task);
        }
    }
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
