//! A count that is waited for until it is zero: what [`Latch`](super::Latch) and
//! [`WaitGroup`](super::WaitGroup) are made of.

use super::awaited::{Attempt, Awaited, InQueue, Queued};
use super::error::TimeoutError;
use super::op::{self, Waiting};
use crate::entry::DONE;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, WaitReason};
use myriad_core::time::Instant;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) struct Countdown(Awaited<usize>);

impl Countdown {
    const_fn! {
        pub(super) const fn new(count: usize) -> Countdown {
            Countdown(Awaited::new(count))
        }
    }

    pub(super) fn count(&self) -> usize {
        self.0.locked(Caller::get(), |count| **count)
    }

    /// Raises it; `None`: beyond what a number can hold.
    pub(super) fn add(&self, n: usize) -> Option<()> {
        self.0.locked(Caller::get(), |count| {
            **count = count.checked_add(n)?;
            Some(())
        })
    }

    /// Lowers it. At zero all go on that wait. `Err`: it was only so high, and is unchanged.
    pub(super) fn sub(&self, n: usize) -> Result<(), usize> {
        let all = self.0.locked(Caller::get(), |count| {
            **count = count.checked_sub(n).ok_or(**count)?;
            Ok::<_, usize>(if **count == 0 { count.all() } else { None })
        })?;
        self.0.release_all(all, DONE);
        Ok(())
    }

    fn waits(&self) -> InQueue<'_, Zero> {
        InQueue::new(&self.0, Zero)
    }

    #[track_caller]
    pub(super) fn wait(&self, deadline: Option<Instant>) -> Result<(), TimeoutError> {
        Caller::get().spend();
        if op::wait(&mut self.waits(), deadline) { Ok(()) } else { Err(TimeoutError) }
    }

    pub(super) fn wait_async(&self) -> ZeroFuture<'_> {
        ZeroFuture(Waiting::new(self.waits()))
    }

    pub(super) fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
        let waiting = Waiting::new(self.waits());
        async move { waiting.until(deadline).await.then_some(()).ok_or(TimeoutError) }
    }
}

/// Of a type around a [`Countdown`]: its wait in all endings but the plain one.
macro_rules! endings {
    ($ready:literal) => {
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

        #[doc = concat!("A future that is ready when ", $ready, ".")]
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

        /// As [`wait_timeout_async`](Self::wait_timeout_async), until `deadline`.
        ///
        /// # Errors
        /// As [`wait_timeout_async`](Self::wait_timeout_async).
        ///
        /// # Cancellation
        /// As [`wait_timeout_async`](Self::wait_timeout_async).
        pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
            self.0.wait_deadline_async(deadline)
        }
    };
}
pub(super) use endings;

struct Zero;

impl Attempt for Zero {
    type State = usize;
    const REASON: WaitReason = WaitReason::Countdown;

    fn attempt(&mut self, count: &mut Queued<usize>) -> bool {
        **count == 0
    }
}

/// What `wait_async` of a [`Latch`](super::Latch) or a [`WaitGroup`](super::WaitGroup) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct ZeroFuture<'a>(Waiting<InQueue<'a, Zero>>);

impl Future for ZeroFuture<'_> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the field is pinned as the whole is.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(cx)
    }
}

impls! {
    Default for Countdown: Countdown::new(0);
    Debug for ZeroFuture<'_>: opaque;
}
