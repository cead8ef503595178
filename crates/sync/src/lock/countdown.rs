//! A count that is waited for until it is zero: what [`Latch`](super::Latch) and
//! [`WaitGroup`](super::WaitGroup) are made of.

use super::error::TimeoutError;
use super::op::{self, Op, Waiting};
use super::wait_queue::{WaitQueue, let_go, retarget};
use crate::entry::{DONE, Entry};
use crate::guarded::Guarded;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::Instant;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub(super) struct Countdown {
    inner: Guarded<CountdownState>,
}

struct CountdownState {
    wait_queue: WaitQueue,
    count: usize,
}

impl Countdown {
    const_fn! {
        pub(super) const fn new(count: usize) -> Countdown {
            Countdown { inner: Guarded::new(CountdownState { wait_queue: WaitQueue::new(), count }) }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.inner.locked(Caller::get(), |state| state.count)
    }

    /// Raises it; `None`: beyond what a number can hold.
    pub(super) fn add(&self, n: usize) -> Option<()> {
        self.inner.locked(Caller::get(), |state| {
            state.count = state.count.checked_add(n)?;
            Some(())
        })
    }

    /// Lowers it. At zero all go on that wait. `Err`: it was only so high, and is unchanged.
    pub(super) fn sub(&self, n: usize) -> Result<(), usize> {
        let all = self.inner.locked(Caller::get(), |state| {
            state.count = state.count.checked_sub(n).ok_or(state.count)?;
            Ok::<_, usize>((state.count == 0 && !state.wait_queue.is_empty()).then(|| state.wait_queue.all()))
        })?;
        if let Some(generation) = all {
            let_go(&self.inner, |state| &mut state.wait_queue, generation, DONE);
        }
        Ok(())
    }

    pub(super) fn wait(&self, deadline: Option<Instant>) -> Result<(), TimeoutError> {
        Caller::get().spend();
        if op::wait(&mut Zero(self), deadline) { Ok(()) } else { Err(TimeoutError) }
    }

    pub(super) fn wait_async(&self) -> ZeroFuture<'_> {
        ZeroFuture(Waiting::new(Zero(self)))
    }

    pub(super) fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
        let waiting = Waiting::new(Zero(self));
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
    };
}
pub(super) use endings;

struct Zero<'a>(&'a Countdown);

// SAFETY: entries are linked and taken out under the lock.
unsafe impl Op for Zero<'_> {
    type Slot = u64;
    const REASON: WaitReason = WaitReason::Countdown;

    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) -> bool {
        self.0.inner.locked(caller, |state| {
            if state.count == 0 {
                return true;
            }
            if let Some(waiter) = waiter.take() {
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { state.wait_queue.join(entry, waiter) };
            }
            false
        })
    }

    unsafe fn retarget(&self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in this countdown's
        // queue, whose lock is held.
        self.0.inner.locked(caller, |_| unsafe { retarget(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<u64>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract), which joined this queue;
        // the lock is held.
        let (outcome, waiter) = self.0.inner.locked(caller, |state| unsafe { state.wait_queue.leave(entry) });
        drop(InHand::new(waiter));
        outcome
    }
}

/// What `wait_async` of a [`Latch`](super::Latch) or a [`WaitGroup`](super::WaitGroup) returns.
#[must_use = "futures do nothing unless awaited"]
pub struct ZeroFuture<'a>(Waiting<Zero<'a>>);

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
