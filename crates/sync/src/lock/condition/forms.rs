//! The forms of waiting, at the end of the line and before it.

use super::{Condition, First, NotifiedFuture, NotifiedWithFuture};
use crate::lock::error::TimeoutError;
use crate::lock::mutex::MutexGuard;
use crate::lock::op::Waiting;
use crate::lock::reentrant::ReentrantLockGuard;
use myriad_core::time::{self, Instant};
use std::sync::{LockResult, PoisonError};
use std::time::Duration;

macro_rules! waits {
    ([$($life:lifetime,)?] $condition:ident: $type:ty, $first:literal, $get:expr) => {
        /// Waiting, in all forms.
        impl<$($life,)? T> $type {
            /// Waits for a notification.
            ///
            /// # Blocking
            /// Until it comes. The calling task is set aside meanwhile, a foreign thread sleeps.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says.
            ///
            /// # Panics
            /// If there is no memory for a stack.
            pub fn wait(&self) -> T {
                let $condition = self;
                notified($get.wait_plain($first, None))
            }

            /// Waits for at most `timeout`.
            ///
            /// # Errors
            /// The time has passed.
            pub fn wait_timeout(&self, timeout: Duration) -> Result<T, TimeoutError> {
                self.wait_deadline(time::now() + timeout)
            }

            /// Waits until `deadline` at the latest.
            ///
            /// # Errors
            /// The time has passed.
            pub fn wait_deadline(&self, deadline: Instant) -> Result<T, TimeoutError> {
                let $condition = self;
                $get.wait_plain($first, Some(deadline)).ok_or(TimeoutError)
            }

            /// A future that waits. It stands in line when it is first polled.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says.
            pub fn wait_async(&self) -> NotifiedFuture<'_, T> {
                let $condition = self;
                NotifiedFuture(Waiting::new($get.waits($first, None)))
            }

            /// Gives the lock back, waits for a notification, and takes the lock again. Whoever takes the lock after it was given
            /// back and notifies then is not missed.
            ///
            /// # Blocking
            /// Until notified, and then until the lock is free.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. A task that unwinds does not hold the lock.
            ///
            /// # Errors
            /// The mutex is poisoned when it is taken again.
            ///
            /// # Panics
            /// If there is no memory for a stack; the lock is given back then.
            pub fn wait_with<'m, U: ?Sized>(&self, guard: MutexGuard<'m, U>) -> LockResult<(MutexGuard<'m, U>, T)> {
                let $condition = self;
                match $get.wait_mutex($first, guard, None) {
                    Ok((guard, value)) => Ok((guard, notified(value))),
                    Err(error) => {
                        let (guard, value) = error.into_inner();
                        Err(PoisonError::new((guard, notified(value))))
                    }
                }
            }

            /// The same for at most `timeout`; taking the lock again may take longer. `None`: the time has passed.
            ///
            /// # Errors
            /// As [`wait_with`](Self::wait_with).
            pub fn wait_with_timeout<'m, U: ?Sized>(
                &self,
                guard: MutexGuard<'m, U>,
                timeout: Duration,
            ) -> LockResult<(MutexGuard<'m, U>, Option<T>)> {
                self.wait_with_deadline(guard, time::now() + timeout)
            }

            /// The same until `deadline` at the latest.
            ///
            /// # Errors
            /// As [`wait_with`](Self::wait_with).
            pub fn wait_with_deadline<'m, U: ?Sized>(
                &self,
                guard: MutexGuard<'m, U>,
                deadline: Instant,
            ) -> LockResult<(MutexGuard<'m, U>, Option<T>)> {
                let $condition = self;
                $get.wait_mutex($first, guard, Some(deadline))
            }

            /// A future of [`wait_with`](Self::wait_with). It gives the lock back when it is first polled.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. Dropped before it is ready, the lock is not held.
            pub fn wait_with_async<'c, 'm: 'c, U: ?Sized>(
                &'c self,
                guard: MutexGuard<'m, U>,
            ) -> NotifiedWithFuture<'m, 'c, U, T> {
                let $condition = self;
                NotifiedWithFuture::new($get.waits($first, Some(guard.mutex.raw())), guard)
            }

            /// Gives a reentrant lock back, however often the caller has taken it, waits for a notification, and takes the lock
            /// again as often.
            ///
            /// # Blocking
            /// Until notified, and then until the lock is free.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. A task that unwinds takes the lock again first, because its guards are
            /// there still; nothing interrupts that.
            ///
            /// # Panics
            /// If the lock is not the caller's, but that of another task, which has lent it its guard. If there is no memory for a
            /// stack. (The process ends if there is none to take the lock again.)
            ///
            /// # Examples
            /// ```
            /// use myriad_sync::lock::{Condition, ReentrantLock};
            /// let (lock, done) = (ReentrantLock::new(()), Condition::new());
            /// myriad_core::scope(|s| {
            ///     let (outer, inner) = (lock.lock(), lock.lock());
            ///     s.spawn(|| {
            ///         let _guard = lock.lock();
            ///         done.notify_one("done").unwrap();
            ///     });
            ///     assert_eq!(done.wait_with_reentrant(&inner), "done");
            ///     drop((inner, outer));
            /// });
            /// ```
            pub fn wait_with_reentrant<U: ?Sized>(&self, guard: &ReentrantLockGuard<'_, U>) -> T {
                let $condition = self;
                notified($get.wait_reentrant($first, guard, None))
            }

            /// The same for at most `timeout`; taking the lock again may take longer.
            ///
            /// # Errors
            /// The time has passed. The lock is held.
            pub fn wait_with_reentrant_timeout<U: ?Sized>(
                &self,
                guard: &ReentrantLockGuard<'_, U>,
                timeout: Duration,
            ) -> Result<T, TimeoutError> {
                self.wait_with_reentrant_deadline(guard, time::now() + timeout)
            }

            /// The same until `deadline` at the latest.
            ///
            /// # Errors
            /// The time has passed. The lock is held.
            pub fn wait_with_reentrant_deadline<U: ?Sized>(
                &self,
                guard: &ReentrantLockGuard<'_, U>,
                deadline: Instant,
            ) -> Result<T, TimeoutError> {
                let $condition = self;
                $get.wait_reentrant($first, guard, Some(deadline)).ok_or(TimeoutError)
            }
        }
    };
}
waits!([] condition: Condition<T>, false, condition);
waits!(['a,] first: First<'a, T>, true, first.0);

/// What came to a wait without a time limit.
pub(super) fn notified<T>(value: Option<T>) -> T {
    value.expect("a wait without a time limit ends by a notification")
}
