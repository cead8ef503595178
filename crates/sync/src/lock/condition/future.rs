//! Waits at a [`Condition`](super::Condition) as futures.

use super::ALONE;
use super::forms::notified;
use super::notified::Notified;
use crate::impls::impls;
use crate::limit::Limited;
use crate::lock::mutex::{LockFuture, MutexGuard};
use crate::lock::op::Waiting;
use myriad_core::time::Instant;
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
        // SAFETY: the field is pinned as the whole is.
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
        let this = self.parts();
        // A second wait would give back the lock, which is the guard's that came of the first.
        assert!(!*this.done, "a wait with a lock that was ready is polled again");
        if this.got.is_none() {
            let mut waiting = this.waiting;
            ready!(waiting.as_mut().poll(cx));
            // SAFETY: the wait was ready just now.
            *this.got = Some(unsafe { received(&waiting) });
        }
        let locked = ready!(this.lock.poll(cx));
        *this.done = true;
        let value = notified(this.got.take().map(|(value, _)| value));
        Poll::Ready(match locked {
            Ok(guard) => Ok((guard, value)),
            Err(error) => Err(PoisonError::new((error.into_inner(), value))),
        })
    }
}

/// The parts of a [`NotifiedWithFuture`], those pinned that wait.
struct Parts<'a, 'm, 'c, U: ?Sized, T> {
    waiting: Pin<&'a mut Waiting<Notified<'c, T>>>,
    got: &'a mut Option<(T, bool)>,
    lock: Pin<&'a mut LockFuture<'m, U>>,
    done: &'a mut bool,
}

/// The value of a notification, and was it for this wait alone?
///
/// # Safety
/// The wait was ready; called once for it.
unsafe fn received<T>(waiting: &Waiting<Notified<'_, T>>) -> (T, bool) {
    // SAFETY: the wait was ready (this function's contract), and each wait of this kind ends by a
    // notification, which has filled the slot; its value is taken once.
    unsafe {
        let slot = waiting.slot();
        ((*slot).value.as_ptr().read(), (*slot).generation == ALONE)
    }
}

impl<'m, 'c, U: ?Sized, T> NotifiedWithFuture<'m, 'c, U, T> {
    fn parts(self: Pin<&mut Self>) -> Parts<'_, 'm, 'c, U, T> {
        // SAFETY: what waits is pinned as the whole, and nobody gets it otherwise; nothing is moved
        // out.
        unsafe {
            let NotifiedWithFuture { waiting, got, lock, done, .. } = self.get_unchecked_mut();
            Parts { waiting: Pin::new_unchecked(waiting), got, lock: Pin::new_unchecked(lock), done }
        }
    }

    /// Waits for a notification until the deadline, and then takes the lock again.
    pub(super) async fn until(self, deadline: Instant) -> LockResult<(MutexGuard<'m, U>, Option<T>)> {
        let mut this = pin!(self);
        let mut waiting = this.as_mut().parts().waiting;
        if Limited::new(waiting.as_mut(), deadline).await {
            // SAFETY: the wait is done, just now.
            let came = unsafe { received(&waiting) };
            *this.as_mut().parts().got = Some(came);
        }
        let locked = this.as_mut().parts().lock.await;
        let value = this.parts().got.take().map(|(value, _)| value);
        match locked {
            Ok(guard) => Ok((guard, value)),
            Err(error) => Err(PoisonError::new((error.into_inner(), value))),
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

impls! {
    Debug for NotifiedFuture<'_, T> [T]: opaque;
    Debug for NotifiedWithFuture<'_, '_, U, T> [U: ?Sized, T]: opaque;
}
