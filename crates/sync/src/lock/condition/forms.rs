//! The forms of waiting, at the end of the line and before it.

use super::{Condition, First, NotifiedFuture, NotifiedWithFuture};
use crate::limit::Limited;
use crate::lock::error::TimeoutError;
use crate::lock::mutex::MutexGuard;
use crate::lock::op::Waiting;
use crate::lock::reentrant::ReentrantLockGuard;
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::pin::pin;
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
            ///
            /// # Examples
            /// ```
            /// use myriad::sync::{Arc, Condition};
            /// let start = Arc::new(Condition::new());
            /// let tasks = [false, true].map(|first| {
            ///     let start = start.clone();
            ///     myriad::spawn(move || if first { start.first().wait() } else { start.wait() })
            /// });
            /// let mut told = 0;
            /// while told < 2 {
            ///     told += start.notify_all("go"); // those that wait already
            ///     myriad::yield_now();
            /// }
            /// assert!(tasks.into_iter().all(|task| task.join().unwrap() == "go"));
            /// ```
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

            /// A future of [`wait_timeout`](Self::wait_timeout), whose limit is counted from this
            /// call. It stands in line when it is first polled.
            ///
            /// # Errors
            /// The time has passed, and no notification has come: the condition itself decides, not
            /// the poll.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says.
            pub fn wait_timeout_async(&self, timeout: Duration) -> impl Future<Output = Result<T, TimeoutError>> {
                self.wait_deadline_async(time::now() + timeout)
            }

            /// As [`wait_timeout_async`](Self::wait_timeout_async), until `deadline`.
            ///
            /// # Errors
            /// As [`wait_timeout_async`](Self::wait_timeout_async).
            ///
            /// # Cancellation
            /// As [`wait_timeout_async`](Self::wait_timeout_async).
            pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<T, TimeoutError>> {
                let $condition = self;
                let waiting = Waiting::new($get.waits($first, None));
                async move {
                    let mut waiting = pin!(waiting);
                    if !Limited::new(waiting.as_mut(), deadline).await {
                        return Err(TimeoutError);
                    }
                    // SAFETY: done, which is after a wait; taken once.
                    Ok(unsafe { (*waiting.slot()).value.as_ptr().read() })
                }
            }

            /// Gives the lock back, waits for a notification, and takes the lock again. Whoever
            /// takes the lock after it was given back and notifies then is not missed.
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

            /// As [`wait_with`](Self::wait_with), for at most `timeout`; taking the lock again may
            /// take longer. `None`: the time has passed.
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

            /// As [`wait_with`](Self::wait_with), until `deadline` at the latest.
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

            /// A future of [`wait_with`](Self::wait_with). It gives the lock back when it is first
            /// polled.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. Dropped before it is ready, the lock is not
            /// held.
            pub fn wait_with_async<'c, 'm: 'c, U: ?Sized>(
                &'c self,
                guard: MutexGuard<'m, U>,
            ) -> NotifiedWithFuture<'m, 'c, U, T> {
                let $condition = self;
                NotifiedWithFuture::new($get.waits($first, Some(guard.mutex.raw())), guard)
            }

            /// A future of [`wait_with_timeout`](Self::wait_with_timeout), whose limit is counted
            /// from this call. It gives the lock back when it is first polled.
            ///
            /// # Cancellation
            /// As [`wait_with_async`](Self::wait_with_async).
            ///
            /// # Errors
            /// As [`wait_with`](Self::wait_with).
            pub fn wait_with_timeout_async<'c, 'm: 'c, U: ?Sized>(
                &'c self,
                guard: MutexGuard<'m, U>,
                timeout: Duration,
            ) -> impl Future<Output = LockResult<(MutexGuard<'m, U>, Option<T>)>> {
                self.wait_with_deadline_async(guard, time::now() + timeout)
            }

            /// As [`wait_with_timeout_async`](Self::wait_with_timeout_async), until `deadline`.
            ///
            /// # Cancellation
            /// As [`wait_with_async`](Self::wait_with_async).
            ///
            /// # Errors
            /// As [`wait_with`](Self::wait_with).
            pub fn wait_with_deadline_async<'c, 'm: 'c, U: ?Sized>(
                &'c self,
                guard: MutexGuard<'m, U>,
                deadline: Instant,
            ) -> impl Future<Output = LockResult<(MutexGuard<'m, U>, Option<T>)>> {
                self.wait_with_async(guard).until(deadline)
            }

            /// Gives a reentrant lock back, waits for a notification, and takes the lock again.
            ///
            /// The caller has taken the lock once: a second guard would give access to the value
            /// while others have the lock.
            ///
            /// # Blocking
            /// Until notified, and then until the lock is free.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. A task that unwinds does not hold the lock.
            ///
            /// # Panics
            /// If the caller has taken the lock more than once, or the guard is another task's; the
            /// guard is dropped. If there is no memory for a stack; the lock is given back then.
            ///
            /// # Examples
            /// ```
            /// use myriad::sync::{Condition, ReentrantLock};
            /// use std::cell::Cell;
            /// let (lock, done) = (ReentrantLock::new(Cell::new(1)), Condition::new());
            /// myriad::scope(|s| {
            ///     let guard = lock.lock();
            ///     s.spawn(|| {
            ///         lock.lock().set(2);
            ///         done.notify_one("done").unwrap();
            ///     });
            ///     let (guard, said) = done.wait_with_reentrant(guard);
            ///     assert_eq!((guard.get(), said), (2, "done"));
            /// });
            /// ```
            #[track_caller]
            pub fn wait_with_reentrant<'m, U: ?Sized>(
                &self,
                guard: ReentrantLockGuard<'m, U>,
            ) -> (ReentrantLockGuard<'m, U>, T) {
                let $condition = self;
                let (guard, value) = $get.wait_reentrant($first, guard, None);
                (guard, notified(value))
            }

            /// As [`wait_with_reentrant`](Self::wait_with_reentrant), for at most `timeout`; taking
            /// the lock again may take longer. `None`: the time has passed.
            #[track_caller]
            pub fn wait_with_reentrant_timeout<'m, U: ?Sized>(
                &self,
                guard: ReentrantLockGuard<'m, U>,
                timeout: Duration,
            ) -> (ReentrantLockGuard<'m, U>, Option<T>) {
                self.wait_with_reentrant_deadline(guard, time::now() + timeout)
            }

            /// As [`wait_with_reentrant`](Self::wait_with_reentrant), until `deadline` at the
            /// latest.
            #[track_caller]
            pub fn wait_with_reentrant_deadline<'m, U: ?Sized>(
                &self,
                guard: ReentrantLockGuard<'m, U>,
                deadline: Instant,
            ) -> (ReentrantLockGuard<'m, U>, Option<T>) {
                let $condition = self;
                $get.wait_reentrant($first, guard, Some(deadline))
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
