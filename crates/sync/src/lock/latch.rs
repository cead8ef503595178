//! A parker that opens once.

use super::countdown::{Countdown, ZeroFuture, endings};
use super::error::TimeoutError;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::time::{self, Instant};
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
#[doc(alias = "CountDownLatch")]
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
    #[track_caller]
    pub fn count_down(&self) {
        self.count_down_by(1);
    }

    /// Counts down by `n`.
    ///
    /// # Panics
    /// If less than `n` is left; nothing is counted then.
    ///
    /// # Examples
    /// ```
    /// let parts = myriad::sync::Latch::new(3);
    /// parts.count_down_by(2);
    /// assert_eq!(parts.count(), 1);
    /// ```
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
    #[track_caller]
    pub fn wait(&self) {
        _ = self.0.wait(None);
    }

    endings!("the latch is open");
}

impls! {
    Debug for Latch: { count: count };
}
