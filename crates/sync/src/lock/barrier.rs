//! A meeting point.

use super::awaited::{Attempt, Awaited, InQueue, Queued};
use super::error::TimeoutError;
use super::op::{self, Waiting};
use crate::entry::DONE;
use crate::impls::impls;
use crate::limit::Limited;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, WaitReason};
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
    inner: Awaited<BarrierState>,
    parties: usize,
}

struct BarrierState {
    arrived: usize,
}

/// Who came last?
///
/// # Examples
/// ```
/// let barrier = myriad::sync::Barrier::new(2);
/// let leads = myriad::scope(|s| {
///     let tasks = [(); 2].map(|()| s.spawn(|| barrier.wait().is_leader()));
///     tasks.map(|h| h.join().unwrap())
/// });
/// assert_ne!(leads[0], leads[1]);
/// ```
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
        #[track_caller]
        pub const fn new(parties: usize) -> Barrier {
            assert!(parties > 0, "a Barrier is for one party at least: nobody could come to one of none");
            Barrier { inner: Awaited::new(BarrierState { arrived: 0 }), parties }
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
    #[track_caller]
    pub fn wait(&self) -> BarrierWaitResult {
        let mut op = self.arrives();
        op::wait(&mut op, None);
        BarrierWaitResult(op.attempt.leads)
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
        let mut op = self.arrives();
        if op::wait(&mut op, Some(deadline)) { Ok(BarrierWaitResult(op.attempt.leads)) } else { Err(TimeoutError) }
    }

    /// A future that comes when it is first polled, and is ready when all have come.
    ///
    /// # Cancellation
    /// Dropped before all have come, it has not come.
    pub fn wait_async(&self) -> BarrierFuture<'_> {
        BarrierFuture(Waiting::new(self.arrives()))
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

    /// As [`wait_timeout_async`](Self::wait_timeout_async), until `deadline`.
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
        let waiting = Waiting::new(self.arrives());
        async move {
            let mut waiting = pin!(waiting);
            if Limited::new(waiting.as_mut(), deadline).await {
                Ok(BarrierWaitResult(waiting.op().attempt.leads))
            } else {
                Err(TimeoutError)
            }
        }
    }

    fn arrives(&self) -> InQueue<'_, Arrive> {
        InQueue::new(&self.inner, Arrive { parties: self.parties, leads: false, all: None })
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

struct Arrive {
    parties: usize,
    leads: bool,
    /// Those who have come before it, if it is the last.
    all: Option<u64>,
}

impl Attempt for Arrive {
    type State = BarrierState;
    const REASON: WaitReason = WaitReason::Barrier;

    fn attempt(&mut self, state: &mut Queued<BarrierState>) -> bool {
        self.leads = state.arrived + 1 == self.parties;
        if self.leads {
            state.arrived = 0;
            self.all = state.all();
        }
        self.leads
    }

    fn over(&mut self, barrier: &Awaited<BarrierState>) {
        barrier.release_all(self.all.take(), DONE);
    }

    fn begin(&mut self, state: &mut BarrierState) {
        state.arrived += 1;
    }

    fn give_up(&mut self, state: &mut BarrierState, outcome: u8) -> u8 {
        if outcome != DONE {
            state.arrived -= 1;
        }
        outcome
    }

    /// The others have come, and gone on.
    fn undo(&mut self, _: &Awaited<BarrierState>, _: bool) -> bool {
        true
    }
}

/// What [`Barrier::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct BarrierFuture<'a>(Waiting<InQueue<'a, Arrive>>);

impl Future for BarrierFuture<'_> {
    type Output = BarrierWaitResult;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<BarrierWaitResult> {
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.0) }.poll(cx));
        Poll::Ready(BarrierWaitResult(self.0.op().attempt.leads))
    }
}

impls! {
    Debug for Barrier: { parties: parties, arrived: arrived };
    Debug for BarrierFuture<'_>: opaque;
}
