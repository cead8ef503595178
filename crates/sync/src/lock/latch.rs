//! A parker that opens once.

use super::countdown::{Countdown, ZeroFuture};
use super::error::TimeoutError;
use myriad_base::sys::const_fn;
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::time::Duration;

/// Opens when it was counted down to zero, and stays open.
///
/// For "go on when these five things are done"; a [`Barrier`](super::Barrier) is for those who wait
/// for each other, a [`WaitGroup`](super::WaitGroup) for a number that is not known before. What
/// was done before a count down is visible after the wait.
///
/// # Examples
/// ```
/// use myriad::sync::Latch;
/// let parts = Latch::new(3);
/// myriad::scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| parts.count_down());
///     }
///     parts.wait();
/// });
/// assert!(parts.is_open());
/// ```
pub struct Latch(Countdown);

impl Latch {
    const_fn! {
        /// A latch that opens after so many counts; of 0 it is open.
        pub const fn new(count: usize) -> Latch {
            Latch(Countdown::new(count))
        }
    }

    /// Counts down by one. The last one lets all go on that wait.
    ///
    /// # Panics
    /// If the latch is open.
    pub fn count_down(&self) {
        self.count_down_by(1);
    }

    /// Counts down by `n`.
    ///
    /// # Panics
    /// If less than `n` is left; nothing is counted then.
    #[track_caller]
    pub fn count_down_by(&self, n: usize) {
        if let Err(left) = self.0.sub(n) {
            panic!(
                "a Latch is counted down by {n} when {left} is left: it was made with too small a number, or somebody counts twice"
            );
        }
    }

    /// What is left to count.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Is nothing left?
    pub fn is_open(&self) -> bool {
        self.count() == 0
    }

    /// Waits until the latch is open.
    ///
    /// # Blocking
    /// Until the count is zero. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    pub fn wait(&self) {
        _ = self.0.wait(None);
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<(), TimeoutError> {
        self.wait_deadline(time::now() + timeout)
    }

    /// Waits until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    pub fn wait_deadline(&self, deadline: Instant) -> Result<(), TimeoutError> {
        self.0.wait(Some(deadline))
    }

    /// A future that is ready when the latch is open.
    ///
    /// # Cancellation
    /// Dropped, it has had no effect.
    pub fn wait_async(&self) -> ZeroFuture<'_> {
        self.0.wait_async()
    }

    /// A future of [`wait_timeout`](Self::wait_timeout), whose limit is counted from this call.
    ///
    /// # Errors
    /// The time has passed, and the count was not zero.
    ///
    /// # Cancellation
    /// Dropped, it has had no effect.
    pub fn wait_timeout_async(&self, timeout: Duration) -> impl Future<Output = Result<(), TimeoutError>> {
        self.wait_deadline_async(time::now() + timeout)
    }

    /// The same until `deadline`.
    ///
    /// # Errors
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
        self.0.wait_deadline_async(deadline)
    }
}

impl fmt::Debug for Latch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("count", &self.count()).finish_non_exhaustive()
    }
}
