//! Doing something once.

use super::awaited::{Attempt, Awaited, InQueue, Queued};
use super::error::TimeoutError;
use super::op::{self, RETRY, Waiting};
use crate::entry::DONE;
use crate::impls::impls;
use crate::limit::Limited;
use myriad_base::sys::atomic::{AtomicU8, Ordering::*};
use myriad_base::sys::const_fn;
use myriad_base::sys::mutant::ord;
use myriad_core::engine::owner;
use myriad_core::engine::wait::{Caller, WaitReason};
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Nothing has been done.
pub(super) const NEW: u8 = 0;
const RUNNING: u8 = 1;
/// It was tried, and has panicked.
pub(super) const POISONED: u8 = 2;
/// It is done, and stays so.
pub(super) const COMPLETE: u8 = 3;

/// Runs something once, whoever comes first; the others wait until it is done.
///
/// As `std::sync::Once`, for tasks. It may block, and take long: those who wait are set aside. If
/// it panics it is *poisoned*, and each later [`call_once`](Once::call_once) panics, as with std;
/// in Go it counts as done. [`call_once_force`](Once::call_once_force) tries again. A call inside
/// itself, which would wait for itself for ever, panics.
///
/// # Examples
/// ```
/// use myriad::sync::Once;
/// static START: Once = Once::new();
/// let mut times = 0;
/// for _ in 0..3 {
///     START.call_once(|| times += 1);
/// }
/// assert_eq!(times, 1);
/// ```
pub struct Once {
    state: AtomicU8,
    /// The identity of who does it; 0 for a future.
    runner: Awaited<u64>,
}

/// What is known about earlier tries.
///
/// # Examples
/// ```
/// use myriad::sync::Once;
/// let once = Once::new();
/// let failed = myriad::scope(|s| s.spawn(|| once.call_once(|| panic!("no"))).join());
/// assert!(failed.is_err());
/// once.call_once_force(|state| assert!(state.is_poisoned()));
/// assert!(once.is_completed());
/// ```
#[derive(Debug)]
pub struct OnceState {
    poisoned: bool,
}

impl OnceState {
    /// Has an earlier try panicked?
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

/// The caller does it, and says how it ended.
pub(super) struct Running<'a> {
    once: &'a Once,
    /// What it will be when this is dropped.
    pub(super) then: u8,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let once = self.once;
        let then = self.then;
        let all = once.runner.locked(Caller::get(), |runner| {
            **runner = 0;
            // Release: pairs with the Acquire in `is_completed`: what was done.
            once.state.store(then, ord(Release, "once-release"));
            runner.all()
        });
        // Not done: each looks again, and one of them may try.
        once.runner.release_all(all, if then == COMPLETE { DONE } else { RETRY });
    }
}

/// What came of asking for the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Complete,
    /// The caller is to do it. `true`: an earlier try has panicked.
    Turn(bool),
    Poisoned,
    /// It is the caller who does it already.
    Itself,
}

impl Once {
    const_fn! {
        /// Nothing is done yet.
        pub const fn new() -> Once {
            Once { state: AtomicU8::new(NEW), runner: Awaited::new(0) }
        }
    }

    /// Is it done? If so, what it has done is visible.
    #[inline(always)]
    pub fn is_completed(&self) -> bool {
        // Acquire: pairs with the Release in `Running::drop`.
        self.state.load(ord(Acquire, "once-acquire")) == COMPLETE
    }

    /// Runs `f` if nobody has; then it is done.
    ///
    /// # Blocking
    /// While another one runs it. The calling task is set aside meanwhile, a foreign thread sleeps.
    /// `f` runs on the caller.
    ///
    /// # Panics
    /// If `f` does, now or earlier. If it is called inside itself. If it must wait and there is no
    /// memory for a stack.
    #[inline]
    #[track_caller]
    pub fn call_once(&self, f: impl FnOnce()) {
        if !self.is_completed() {
            self.call(false, |_| f());
        }
    }

    /// As [`call_once`](Self::call_once), also if an earlier try has panicked.
    ///
    /// # Panics
    /// If `f` does. If it is called inside itself. If it must wait and there is no memory for a
    /// stack.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::Once;
    /// let once = Once::new();
    /// let first = std::panic::catch_unwind(|| once.call_once(|| panic!("the disk is full")));
    /// assert!(first.is_err());
    /// once.call_once_force(|state| assert!(state.is_poisoned()));
    /// once.wait(); // it is done
    /// ```
    #[inline]
    #[track_caller]
    pub fn call_once_force(&self, f: impl FnOnce(&OnceState)) {
        if !self.is_completed() {
            self.call(true, f);
        }
    }

    #[cold]
    #[track_caller]
    fn call(&self, force: bool, f: impl FnOnce(&OnceState)) {
        if let Some((mut running, state)) = self.begin(force) {
            f(&state);
            running.then = COMPLETE;
        }
    }

    /// The turn to do it; `None`: it is done. If the turn is dropped, it was in vain, as by a
    /// panic.
    #[track_caller]
    pub(super) fn begin(&self, force: bool) -> Option<(Running<'_>, OnceState)> {
        let mut turn = self.wants(force, false, owner().get());
        op::wait(&mut turn, None);
        self.turn(turn.attempt.outcome)
    }

    /// The same in a future.
    pub(super) async fn begin_async(&self, force: bool) -> Option<(Running<'_>, OnceState)> {
        let turn = self.wants(force, false, 0);
        let mut waiting = pin!(Waiting::new(turn));
        waiting.as_mut().await;
        self.turn(waiting.op().attempt.outcome)
    }

    /// To wait for the turn, or only for the end.
    fn wants(&self, force: bool, only_wait: bool, runner: u64) -> InQueue<'_, Turn<'_>> {
        InQueue::new(&self.runner, Turn { once: self, force, only_wait, runner, outcome: Outcome::Complete })
    }

    #[track_caller]
    fn turn(&self, outcome: Outcome) -> Option<(Running<'_>, OnceState)> {
        match outcome {
            Outcome::Complete => None,
            Outcome::Turn(poisoned) => Some((Running { once: self, then: POISONED }, OnceState { poisoned })),
            Outcome::Poisoned => poisoned(),
            Outcome::Itself => panic!(
                "a Once (or OnceLock, LazyLock) is asked for inside its own initialisation: it would wait for itself for ever"
            ),
        }
    }

    /// Waits until somebody has done it.
    ///
    /// # Blocking
    /// Until it is done. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Panics
    /// If a try has panicked. If it must wait and there is no memory for a stack.
    #[track_caller]
    pub fn wait(&self) {
        if !self.is_completed() && self.only_wait(false, None) == Some(Outcome::Poisoned) {
            poisoned();
        }
    }

    /// As [`wait`](Self::wait), also if a try has panicked: until another one succeeds.
    pub fn wait_force(&self) {
        if !self.is_completed() {
            self.only_wait(true, None);
        }
    }

    /// Waits as [`wait`](Self::wait), for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Duration) -> Result<(), TimeoutError> {
        self.wait_deadline(time::now() + timeout)
    }

    /// Waits as [`wait`](Self::wait), until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_deadline(&self, deadline: Instant) -> Result<(), TimeoutError> {
        if self.is_completed() {
            return Ok(());
        }
        match self.only_wait(false, Some(deadline)) {
            None => Err(TimeoutError),
            Some(Outcome::Poisoned) => poisoned(),
            Some(_) => Ok(()),
        }
    }

    /// False: the time has passed.
    pub(super) fn wait_force_until(&self, deadline: Instant) -> bool {
        self.only_wait(true, Some(deadline)).is_some()
    }

    pub(super) fn wait_force_async(&self) -> OnceFuture<'_> {
        let turn = self.wants(true, true, 0);
        OnceFuture(Waiting::new(turn))
    }

    fn only_wait(&self, force: bool, deadline: Option<Instant>) -> Option<Outcome> {
        let mut turn = self.wants(force, true, 0);
        op::wait(&mut turn, deadline).then_some(turn.attempt.outcome)
    }

    /// A future that is ready when it is done.
    ///
    /// # Panics
    /// When polled, if a try has panicked.
    ///
    /// # Cancellation
    /// Dropped, it has had no effect.
    pub fn wait_async(&self) -> OnceFuture<'_> {
        let turn = self.wants(false, true, 0);
        OnceFuture(Waiting::new(turn))
    }

    /// A future of [`wait_timeout`](Self::wait_timeout), whose limit is counted from this call.
    ///
    /// # Errors
    /// The time has passed, and it was not done.
    ///
    /// # Panics
    /// When polled, if a try has panicked.
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
    /// # Panics
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
        self.only_wait_deadline_async(false, deadline)
    }

    pub(super) fn only_wait_deadline_async(
        &self,
        force: bool,
        deadline: Instant,
    ) -> impl Future<Output = Result<(), TimeoutError>> {
        let turn = self.wants(force, true, 0);
        let waiting = Waiting::new(turn);
        async move {
            let mut waiting = pin!(waiting);
            if !Limited::new(waiting.as_mut(), deadline).await {
                return Err(TimeoutError);
            }
            if waiting.op().attempt.outcome == Outcome::Poisoned {
                poisoned();
            }
            Ok(())
        }
    }

    /// Nobody else has it: back to the beginning. True: it was done.
    pub(super) fn reset(&mut self) -> bool {
        let was = self.is_completed();
        self.state.store(NEW, Relaxed);
        was
    }
}

#[cold]
#[track_caller]
fn poisoned() -> ! {
    panic!("a Once (or LazyLock) is poisoned: its initialisation has panicked; Once::call_once_force tries again")
}

struct Turn<'a> {
    once: &'a Once,
    force: bool,
    only_wait: bool,
    /// The caller's identity, 0 if it cannot be its own runner.
    runner: u64,
    outcome: Outcome,
}

impl Attempt for Turn<'_> {
    type State = u64;
    const REASON: WaitReason = WaitReason::Once;

    fn attempt(&mut self, runner: &mut Queued<u64>) -> bool {
        // Relaxed: under the lock.
        let outcome = match self.once.state.load(Relaxed) {
            COMPLETE => Some(Outcome::Complete),
            RUNNING if self.runner != 0 && **runner == self.runner => Some(Outcome::Itself),
            RUNNING => None,
            POISONED if !self.force => Some(Outcome::Poisoned),
            _ if self.only_wait => None,
            before => {
                self.once.state.store(RUNNING, Relaxed);
                **runner = self.runner;
                Some(Outcome::Turn(before == POISONED))
            }
        };
        self.outcome = outcome.unwrap_or(Outcome::Complete);
        outcome.is_some()
    }

    /// Always `RETRY`: what has become of it says the state.
    fn give_up(&mut self, _: &mut u64, _: u8) -> u8 {
        RETRY
    }
}

/// What [`Once::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct OnceFuture<'a>(Waiting<InQueue<'a, Turn<'a>>>);

impl Future for OnceFuture<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.0) }.poll(cx));
        if self.0.op().attempt.outcome == Outcome::Poisoned {
            poisoned();
        }
        Poll::Ready(())
    }
}

// As std's: a try that has panicked is known.
impl std::panic::UnwindSafe for Once {}
impl std::panic::RefUnwindSafe for Once {}

impls! {
    Default for Once: Once::new();
    Debug for Once: { completed: is_completed };
    Debug for OnceFuture<'_>: opaque;
}
