//! Waiting for a number of things that is not known before.

use super::countdown::{Countdown, ZeroFuture, endings};
use super::error::TimeoutError;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::time::Duration;

/// Waits until all that were added are done; then it may be used again.
///
/// As Go's `sync.WaitGroup`. Add before you start what is counted, not within it, or the wait may
/// be over before. Where tasks are counted that borrow, `scope` does the same without counting.
///
/// # Examples
/// ```
/// use myriad::sync::WaitGroup;
/// use std::sync::Arc;
/// let group = Arc::new(WaitGroup::new());
/// for _ in 0..3 {
///     group.add(1);
///     let group = group.clone();
///     myriad::spawn(move || {
///         let _done = group.done_on_drop();                // also if it panics
///     });
/// }
/// group.wait();
/// ```
#[derive(Default)]
pub struct WaitGroup(Countdown);

impl WaitGroup {
    const_fn! {
        /// A group of none.
        pub const fn new() -> WaitGroup {
            WaitGroup(Countdown::new(0))
        }
    }

    /// So many more are to be done.
    ///
    /// # Panics
    /// If they are more than a `usize` can count; nothing is added then.
    #[track_caller]
    pub fn add(&self, n: usize) {
        if self.0.add(n).is_none() {
            panic!("a WaitGroup counts up to {}, and {n} more were added to {}", usize::MAX, self.count());
        }
    }

    /// One is done. The last one lets all go on that wait.
    ///
    /// # Panics
    /// If all were done already: the counter would become negative.
    ///
    /// # Examples
    /// ```
    /// let group = myriad::sync::WaitGroup::new();
    /// group.add(2);
    /// myriad::scope(|s| {
    ///     s.spawn(|| group.done());
    ///     s.spawn(|| group.done());
    ///     group.wait();
    /// });
    /// assert_eq!(group.count(), 0);
    /// ```
    #[track_caller]
    pub fn done(&self) {
        if self.0.sub(1).is_err() {
            panic!(
                "WaitGroup::done was called more often than was added: call add(1) before what is counted is started"
            );
        }
    }

    /// Calls [`done`](Self::done) when it is dropped: also if the task panics.
    pub fn done_on_drop(&self) -> Done<'_> {
        Done(self)
    }

    /// How many are not done yet.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Waits until all are done.
    ///
    /// # Blocking
    /// Until the count is zero; at once if it is. The calling task is set aside meanwhile, a
    /// foreign thread sleeps. Whoever waited goes on even if more are added at once after it was
    /// zero.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[track_caller]
    pub fn wait(&self) {
        _ = self.0.wait(None);
    }

    endings!("all are done");
}

/// See [`WaitGroup::done_on_drop`].
#[derive(Debug)]
#[must_use = "if it is not kept, it is done at once"]
pub struct Done<'a>(&'a WaitGroup);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.done();
    }
}

impls! {
    Debug for WaitGroup: { count: count };
}
