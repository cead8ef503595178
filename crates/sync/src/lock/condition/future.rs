//! Waits at a [`Condition`](super::Condition) as futures.

use super::ALONE;
use super::forms::notified;
use super::notified::Notified;
use crate::limit::Limited;
use crate::lock::mutex::{LockFuture, MutexGuard};
use crate::lock::op::Waiting;
use myriad_core::time::Instant;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::sync::{LockResult, PoisonError};
use std::task::{Context, Poll, ready};

/// What [`Condition::wait_async`](super::Condition::wait_async) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct NotifiedFuture<'a, T>(pub(super) Waiting<Notified<'a, T>>);

impl<T> Future for NotifiedFuture<'_, T> {
    type Output = T;
    /// Polled again after it was ready, it waits for the next notification.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // SAFETY: pinned with the whole.
        let mut waiting = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        ready!(waiting.as_mut().poll(cx));
        // SAFETY: ready, which is after a wait; taken once.
        Poll::Ready(unsafe { (*waiting.slot()).value.as_ptr().read() })
    }
}

/// What [`Condition::wait_with_async`](super::Condition::wait_with_async) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct NotifiedWithFuture<'m, 'c, U: ?Sized, T>
where
    'm: 'c,
{
    /// Until `waiting` has unlocked it.
    guard: ManuallyDrop<MutexGuard<'m, U>>,
    waiting: Waiting<Notified<'c, T>>,
    /// What came, until the lock is taken.
    got: Option<(T, bool)>,
    lock: LockFuture<'m, U>,
    /// It was ready: the lock is another guard's.
    done: bool,
}

impl<'m: 'c, 'c, U: ?Sized, T> NotifiedWithFuture<'m, 'c, U, T> {
    pub(super) fn new(notified: Notified<'c, T>, guard: MutexGuard<'m, U>) -> Self {
        let mutex = guard.mutex;
        let waiting = Waiting::new(notified);
        NotifiedWithFuture {
            guard: ManuallyDrop::new(guard),
            waiting,
            got: None,
            lock: mutex.lock_async(),
            done: false,
        }
    }
}

impl<'m, U: ?Sized, T> Future for NotifiedWithFuture<'m, '_, U, T> {
    type Output = LockResult<(MutexGuard<'m, U>, T)>;

    /// # Panics
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: what is pinned stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        // A second wait would give back the lock, which is the guard's that came of the first.
        assert!(!this.done, "a wait with a lock that was ready is polled again");
        if this.got.is_none() {
            // SAFETY: pinned with the whole; ready.
            unsafe {
                ready!(Pin::new_unchecked(&mut this.waiting).poll(cx));
                this.receive();
            }
        }
        // SAFETY: pinned with the whole.
        let locked = ready!(unsafe { Pin::new_unchecked(&mut this.lock) }.poll(cx));
        this.done = true;
        let value = notified(this.got.take().map(|(value, _)| value));
        Poll::Ready(match locked {
            Ok(guard) => Ok((guard, value)),
            Err(error) => Err(PoisonError::new((error.into_inner(), value))),
        })
    }
}

impl<'m, U: ?Sized, T> NotifiedWithFuture<'m, '_, U, T> {
    /// Waits for a notification until the deadline, and then takes the lock again.
    pub(super) async fn until(self, deadline: Instant) -> LockResult<(MutexGuard<'m, U>, Option<T>)> {
        let mut this = pin!(self);
        // SAFETY: pinned with the whole.
        let waiting = unsafe { this.as_mut().map_unchecked_mut(|this| &mut this.waiting) };
        if Limited::new(waiting, deadline).await {
            // SAFETY: nothing is moved.
            unsafe { this.as_mut().get_unchecked_mut().receive() };
        }
        // SAFETY: pinned with the whole.
        let locked = unsafe { this.as_mut().map_unchecked_mut(|this| &mut this.lock) }.await;
        // SAFETY: nothing that is pinned is moved.
        let value = unsafe { this.get_unchecked_mut() }.got.take().map(|(value, _)| value);
        match locked {
            Ok(guard) => Ok((guard, value)),
            Err(error) => Err(PoisonError::new((error.into_inner(), value))),
        }
    }

    /// # Safety
    /// The wait was ready; called once.
    unsafe fn receive(&mut self) {
        // SAFETY: the wait was ready (this function's contract), and each wait of this kind ends by
        // a notification, which has filled the slot; its value is taken once.
        unsafe {
            let slot = self.waiting.slot();
            self.got = Some(((*slot).value.as_ptr().read(), (*slot).generation == ALONE));
        }
    }
}

impl<U: ?Sized, T> Drop for NotifiedWithFuture<'_, '_, U, T> {
    fn drop(&mut self) {
        if !self.waiting.op().unlocked {
            // SAFETY: never polled: the lock is held, and dropped once.
            unsafe { ManuallyDrop::drop(&mut self.guard) };
        }
        if let Some((value, true)) = self.got.take() {
            // Nobody else waits: dropped.
            _ = self.waiting.op().condition.notify_one(value);
        }
    }
}

impl<T> fmt::Debug for NotifiedFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotifiedFuture(..)")
    }
}
impl<U: ?Sized, T> fmt::Debug for NotifiedWithFuture<'_, '_, U, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotifiedWithFuture(..)")
    }
}
