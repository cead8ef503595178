//! A meeting point.

use super::error::TimeoutError;
use super::op::{self, Op, Waiting};
use super::wait_queue::{WaitQueue, let_go, retarget};
use crate::entry::{DONE, Entry};
use crate::guarded::Guarded;
use crate::impls::impls;
use crate::limit::Limited;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Lets tasks wait for each other: when so many have come, all go on, and it may be used again.
///
/// As `std::sync::Barrier`, for tasks: thousands may meet on one worker. What each did before is
/// visible to all afterwards. They go on in the order in which they came.
///
/// # Examples
/// ```
/// use myriad::sync::Barrier;
/// let barrier = Barrier::new(3);
/// let leaders = myriad::scope(|s| {
///     let tasks: Vec<_> = (0..3).map(|_| s.spawn(|| barrier.wait().is_leader())).collect();
///     tasks.into_iter().filter_map(|t| t.join().unwrap().then_some(())).count()
/// });
/// assert_eq!(leaders, 1);
/// ```
pub struct Barrier {
    inner: Guarded<BarrierState>,
    parties: usize,
}

struct BarrierState {
    wait_queue: WaitQueue,
    arrived: usize,
}

/// Who came last?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for exactly one of those who met: the one who came last.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    const_fn! {
        /// A barrier for so many.
        ///
        /// # Panics
        /// If there are none: nobody could ever be the last to come. (std's takes 0 for 1.)
        pub const fn new(parties: usize) -> Barrier {
            assert!(parties > 0, "a Barrier is for one party at least: nobody could come to one of none");
            Barrier { inner: Guarded::new(BarrierState { wait_queue: WaitQueue::new(), arrived: 0 }), parties }
        }
    }

    /// Waits until all have come.
    ///
    /// # Blocking
    /// Until the last one comes, which does not wait. The calling task is set aside meanwhile, a
    /// foreign thread sleeps. O(1), and for the last one O(parties).
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack: then it has not come.
    pub fn wait(&self) -> BarrierWaitResult {
        let mut op = Arrive::new(self);
        op::wait(&mut op, None);
        BarrierWaitResult(op.leads)
    }

    /// Waits for at most `timeout`. When that has passed the caller leaves, and looks once more: if
    /// all others have come meanwhile, the caller is the last, and leads.
    ///
    /// # Errors
    /// The time has passed: the caller has not come, the barrier waits for as many as before.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<BarrierWaitResult, TimeoutError> {
        self.wait_deadline(time::now() + timeout)
    }

    /// Waits until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`wait_timeout`](Self::wait_timeout).
    pub fn wait_deadline(&self, deadline: Instant) -> Result<BarrierWaitResult, TimeoutError> {
        let mut op = Arrive::new(self);
        if op::wait(&mut op, Some(deadline)) { Ok(BarrierWaitResult(op.leads)) } else { Err(TimeoutError) }
    }

    /// A future that comes when it is first polled, and is ready when all have come.
    ///
    /// # Cancellation
    /// Dropped before all have come, it has not come.
    pub fn wait_async(&self) -> BarrierFuture<'_> {
        BarrierFuture(Waiting::new(Arrive::new(self)))
    }

    /// A future of [`wait_timeout`](Self::wait_timeout), whose limit is counted from this call. It
    /// comes when it is first polled.
    ///
    /// # Errors
    /// The time has passed: it has not come. The barrier itself decides, not the poll: either all
    /// have met, or this one has not come.
    ///
    /// # Cancellation
    /// As [`wait_async`](Self::wait_async).
    pub fn wait_timeout_async(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<BarrierWaitResult, TimeoutError>> {
        self.wait_deadline_async(time::now() + timeout)
    }

    /// The same until `deadline`.
    ///
    /// # Errors
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = Result<BarrierWaitResult, TimeoutError>> {
        let waiting = Waiting::new(Arrive::new(self));
        async move {
            let mut waiting = pin!(waiting);
            if Limited::new(waiting.as_mut(), deadline).await {
                Ok(BarrierWaitResult(waiting.op().leads))
            } else {
                Err(TimeoutError)
            }
        }
    }

    /// For how many it is.
    pub fn parties(&self) -> usize {
        self.parties
    }

    /// How many have come, and wait.
    pub fn arrived(&self) -> usize {
        self.inner.locked(Caller::get(), |state| state.arrived)
    }
}

struct Arrive<'a> {
    barrier: &'a Barrier,
    leads: bool,
    /// In which it came.
    generation: u64,
}

impl<'a> Arrive<'a> {
    fn new(barrier: &'a Barrier) -> Self {
        Arrive { barrier, leads: false, generation: 0 }
    }
}

// SAFETY: entries are linked and taken out under the lock.
unsafe impl Op for Arrive<'_> {
    type Slot = u64;
    const REASON: WaitReason = WaitReason::Barrier;

    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) -> bool {
        let barrier = self.barrier;
        self.leads = barrier.inner.locked(caller, |state| {
            self.generation = state.wait_queue.generation();
            if state.arrived + 1 == barrier.parties {
                state.arrived = 0;
                state.wait_queue.all();
                return true;
            }
            if let Some(waiter) = waiter.take() {
                state.arrived += 1;
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { state.wait_queue.join(entry, waiter) };
            }
            false
        });
        if self.leads {
            let_go(&barrier.inner, |state| &mut state.wait_queue, self.generation, DONE);
        }
        self.leads
    }

    unsafe fn retarget(&self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in this barrier's queue,
        // whose lock is held.
        self.barrier.inner.locked(caller, |_| unsafe { retarget(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<u64>) -> u8 {
        let (outcome, waiter) = self.barrier.inner.locked(caller, |state| {
            // SAFETY: `entry` was linked by `start` (this method's contract), which joined this
            // queue; the lock is held.
            let left = unsafe { state.wait_queue.leave(entry) };
            if left.0 != DONE {
                state.arrived -= 1;
            }
            left
        });
        drop(InHand::new(waiter));
        outcome
    }

    /// The others have come, and gone on.
    unsafe fn undo(&mut self, _: u8, _: *mut u64) -> bool {
        true
    }
}

/// What [`Barrier::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct BarrierFuture<'a>(Waiting<Arrive<'a>>);

impl Future for BarrierFuture<'_> {
    type Output = BarrierWaitResult;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.0) }.poll(cx));
        Poll::Ready(BarrierWaitResult(self.0.op().leads))
    }
}

impls! {
    Debug for Barrier: { parties: parties, arrived: arrived };
    Debug for BarrierFuture<'_>: opaque;
}
