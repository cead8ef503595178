//! The handle as a future: the waker stands where a joiner would.

use super::result::take_result;
use super::wait::take_back_waiter;
use super::{JoinHandle, TAKEN, TOO_EARLY};
use crate::api::error::JoinError;
use crate::queue::reason::WaitReason;
use crate::sched::wait::Caller;
use crate::sched::{waker, worker};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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
