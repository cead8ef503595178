//! Time limits for a piece of code: it is cancelled when its time is over.

use super::now;
use super::sleep::{Sleep, sleep_until_async};
use crate::api::until::Until;
use crate::sched::cancel::cancel_scope::{self, CancelScope};
use crate::sched::timers::FIRE_CANCEL_SCOPE;
use crate::sched::wait::timed_out;
use crate::sched::{user_code, worker};
use myriad_base::sys::clock::Instant;
use myriad_base::wheel::TimerNode;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The time was over before the work was done.
///
/// # Examples
/// ```
/// use myriad::time::{sleep, timeout};
/// use std::time::Duration;
/// fn ask() -> std::io::Result<()> {
///     timeout(Duration::from_millis(1), || sleep(Duration::from_secs(3600)))?;
///     Ok(())
/// }
/// assert_eq!(ask().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elapsed;

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the time limit has passed")
    }
}

impl std::error::Error for Elapsed {}

/// As an error of kind `TimedOut`.
impl From<Elapsed> for std::io::Error {
    fn from(elapsed: Elapsed) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::TimedOut, elapsed)
    }
}

/// Runs `f` in the calling task, and cancels it when `limit` has passed: it unwinds from its next
/// blocking point up to here.
///
/// Limits nest: the one that ends first counts. What `f` has started with `spawn` runs on; tasks
/// that it waits for (in a `join`, at the end of a scope) are cancelled too, and awaited. On a
/// foreign thread it works as in a task.
///
/// # Blocking
/// As `f`. A computation is not interrupted: `f` ends at its next blocking point, or when it is
/// done.
///
/// # Cancellation
/// If the caller is cancelled from outside, that goes on. See [`cancel`](crate::cancel) about
/// destructors and `catch_unwind`.
///
/// # Panics
/// If `f` does.
///
/// # Errors
/// The time was over first. If `f` is done in spite of that, its result is returned.
///
/// # Examples
/// ```
/// use myriad::time::{sleep, timeout};
/// use std::time::Duration;
/// let late = timeout(Duration::from_millis(1), || sleep(Duration::from_secs(3600)));
/// assert!(late.is_err());
/// assert_eq!(timeout(Duration::from_secs(3600), || 42), Ok(42));
/// ```
pub fn timeout<R>(limit: Duration, f: impl FnOnce() -> R) -> Result<R, Elapsed> {
    deadline(now() + limit, f)
}

/// As [`timeout`], until a point in time.
///
/// # Errors
/// As [`timeout`].
///
/// # Panics
/// If `f` does.
///
/// # Examples
/// ```
/// use myriad::time::{deadline, now, sleep};
/// use std::time::Duration;
/// // Several steps, one limit.
/// let end = now() + Duration::from_millis(2);
/// assert!(deadline(end, || sleep(Duration::from_micros(1))).is_ok());
/// assert!(deadline(end, || sleep(Duration::from_secs(3600))).is_err());
/// ```
#[doc(alias = "timeout_at")]
#[doc(alias = "WithDeadline")]
pub fn deadline<R>(at: Instant, f: impl FnOnce() -> R) -> Result<R, Elapsed> {
    let mut limit = Limit {
        cancel_scope: CancelScope::new(false, at),
        timer: UnsafeCell::new(TimerNode::new(std::ptr::null_mut(), FIRE_CANCEL_SCOPE)),
    };
    limit.cancel_scope.enter();
    let limit = &limit;
    // On a foreign thread, its waits look at the clock.
    let owner = limit.cancel_scope.worker().filter(|_| at != Instant::NEVER);
    if let Some(owner) = owner {
        // SAFETY: the timer stands in this frame until it is removed below.
        let earliest = unsafe {
            (*limit.timer.get()).data = (&raw const limit.cancel_scope).cast_mut().cast();
            owner.timers.lock_to_insert(worker::current().as_deref()).insert(limit.timer.get(), at)
        };
        if earliest {
            owner.timers.announce(owner, at);
        }
    }
    let result = user_code::body(f);
    if let Some(owner) = owner {
        // SAFETY: it was set in this wheel, or has fired.
        unsafe { owner.timers.lock(worker::current().as_deref()).remove(limit.timer.get()) };
    }
    limit.cancel_scope.leave();
    cancel_scope::ended(&limit.cancel_scope, result).map_err(|_| {
        limit.cancel_scope.waited().into_iter().for_each(timed_out::note);
        Elapsed
    })
}

/// A cancel scope with a timer.
struct Limit {
    cancel_scope: CancelScope,
    timer: UnsafeCell<TimerNode>,
}

/// A future that is dropped when `limit` has passed since this call.
///
/// # Cancellation
/// When the time is over the future is polled once more, and dropped if it is pending. What it does
/// between that poll and its drop, it does unknown to the caller: [`Elapsed`] says that no result
/// was seen, not that nothing has happened. A message may have been sent, the others at a barrier
/// may have gone on. Who sends again after `Elapsed` may send twice. (What a future is *given* in
/// between, a message, a permit or a notification, it gives on when it is dropped: that is not
/// lost.)
///
/// Where that matters, take the operation's own form with a limit, which is exact, as those that
/// block: `send_timeout_async`, `recv_timeout_async` and their like; or an arm `after(limit)` in a
/// `select_async!`, of whose arms one takes effect, and no other.
///
/// # Errors
/// Its output is [`Elapsed`] if the time was over first.
///
/// # Examples
/// ```
/// use myriad::time::timeout_async;
/// use std::time::Duration;
/// let late = timeout_async(Duration::from_millis(1), std::future::pending::<()>());
/// assert!(myriad::block_on(late).is_err());
/// ```
#[doc(alias = "timeout")]
#[doc(alias = "withTimeout")]
pub fn timeout_async<F: Future>(limit: Duration, future: F) -> Timeout<F> {
    deadline_async(now() + limit, future)
}

/// As [`timeout_async`], until a point in time.
///
/// # Examples
/// ```
/// use myriad::time;
/// let at = time::now() + std::time::Duration::from_millis(1);
/// let late = myriad::block_on(time::deadline_async(at, std::future::pending::<()>()));
/// assert_eq!(late, Err(time::Elapsed));
/// ```
#[doc(alias = "timeout_at")]
pub fn deadline_async<F: Future>(at: Instant, future: F) -> Timeout<F> {
    Timeout(Until::new(future, sleep_until_async(at)))
}

/// What [`timeout_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct Timeout<F>(Until<F, Sleep>);

impl<F> fmt::Debug for Timeout<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.show("Timeout", f)
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    /// # Panics
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the field is pinned as the whole is.
        let until = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        until.poll_future_first(cx).map(|output| output.ok_or(Elapsed))
    }
}
