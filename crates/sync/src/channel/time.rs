//! Channels whose messages are times: [`after`], [`tick`], [`never`].
//!
//! There is no sender, no task and no buffer: a receiver looks at the clock, and who waits sets a
//! timer of its own. So one that is dropped, or that nobody asks, costs nothing.

use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::select::Arm;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

/// A channel with one message, which comes after `duration`; then none ever comes. Clones share it.
///
/// The message is the time at which it came, not that at which it is received: the difference says
/// how late the receiver is.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use myriad::channel::after;
/// let begin = myriad::time::now();
/// let timer = after(Duration::from_millis(2));
/// assert!(timer.try_recv().is_err());
/// assert!(timer.recv().unwrap() >= begin + Duration::from_millis(2));
/// assert!(timer.recv_timeout(Duration::from_millis(1)).is_err(), "there was one");
/// ```
#[doc(alias = "Timer")]
#[must_use]
pub fn after(duration: Duration) -> Ticks {
    Ticks::new(time::now() + duration, Duration::MAX)
}

/// A channel whose messages are times: the first comes after `period`, and then one in each period,
/// as long as the one before was received. Clones share the messages.
///
/// A message is the time at which it came. As long as nobody receives it no other one comes, so a
/// slow receiver is told of the first that it was late for; the next comes at the next multiple of
/// the period. (As in Go, and in crossbeam, where however the period is counted from the receive.)
///
/// # Panics
/// If the period is zero.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let period = Duration::from_millis(1);
/// let ticks = myriad::channel::tick(period);
/// let (first, second) = (ticks.recv().unwrap(), ticks.recv().unwrap());
/// assert!(second - first >= period);
/// ```
#[doc(alias = "interval")]
#[must_use]
#[track_caller]
pub fn tick(period: Duration) -> Ticks {
    assert!(!period.is_zero(), "ticks need a period that is longer than nothing");
    Ticks::new(time::now() + period, period)
}

/// A channel on which nothing ever comes.
///
/// # Examples
/// ```
/// use myriad::channel::{after, never};
/// use std::time::Duration;
/// // An arm that is there only with a limit.
/// let limit = None;
/// let over = limit.map_or_else(never, after);
/// let (tx, rx) = myriad::channel::unbounded();
/// tx.send(1).unwrap();
/// let got = myriad::select! {
///     number = rx.recv() => number.ok(),
///     _ = over.recv() => None,
/// };
/// assert_eq!(got, Some(1));
/// # let _: Option<Duration> = limit;
/// ```
#[must_use]
pub fn never() -> Ticks {
    Ticks::new(Instant::NEVER, Duration::MAX)
}

/// Receives from [`after`], [`tick`] or [`never()`].
#[derive(Debug, Clone)]
pub struct Ticks {
    /// When the next message comes, in nanoseconds.
    next: Arc<AtomicU64>,
    period: Duration,
}

impl Ticks {
    fn new(first: Instant, period: Duration) -> Ticks {
        Ticks { next: Arc::new(AtomicU64::new(first.as_nanos())), period }
    }

    fn next(&self) -> Instant {
        // Relaxed: a number, which whoever takes the message changes by an exchange.
        Instant::from_nanos(self.next.load(Relaxed))
    }

    /// The message, if one is there now.
    ///
    /// # Blocking
    /// It waits for nothing; in a closure each 256th attempt in a row that fails lets others go
    /// first, as that of a [`Receiver`](super::Receiver::try_recv).
    ///
    /// # Errors
    /// None is there now. (Never that it is closed.)
    pub fn try_recv(&self) -> Result<Instant, TryRecvError> {
        self.take().inspect_err(|_| Caller::get().spend_in_vain())
    }

    fn take(&self) -> Result<Instant, TryRecvError> {
        if self.next() == Instant::NEVER {
            return Err(TryRecvError::Empty);
        }
        self.take_at(time::now())
    }

    /// The message, if one is there at this time, which is now.
    fn take_at(&self, now: Instant) -> Result<Instant, TryRecvError> {
        let mut next = self.next();
        while now >= next && next != Instant::NEVER {
            // In step with the first, as far as possible: the one after that which is due now.
            let period = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX);
            let late = (now - next).as_nanos() as u64 / period;
            let following = next + Duration::from_nanos(period.saturating_mul(late + 1));
            match self.next.compare_exchange(next.as_nanos(), following.as_nanos(), Relaxed, Relaxed) {
                Ok(_) => return Ok(next),
                Err(_) => next = self.next(),
            }
        }
        Err(TryRecvError::Empty)
    }

    /// Waits for the next message.
    ///
    /// # Blocking
    /// Until its time; for ever, if none comes any more.
    ///
    /// # Errors
    /// None.
    pub fn recv(&self) -> Result<Instant, RecvError> {
        self.recv_deadline(Instant::NEVER).map_err(|_| RecvError)
    }

    /// As [`recv`](Self::recv), for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Instant, RecvTimeoutError> {
        self.recv_deadline(time::now() + timeout)
    }

    /// As [`recv`](Self::recv), until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    pub fn recv_deadline(&self, deadline: Instant) -> Result<Instant, RecvTimeoutError> {
        loop {
            let now = time::now();
            if let Ok(time) = self.take_at(now) {
                return Ok(time);
            }
            if deadline != Instant::NEVER && now >= deadline {
                return Err(RecvTimeoutError::Timeout);
            }
            time::sleep_until(self.next().min(deadline));
        }
    }

    /// A future of [`recv`](Self::recv).
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing.
    pub async fn recv_async(&self) -> Result<Instant, RecvError> {
        loop {
            if let Ok(time) = self.take() {
                return Ok(time);
            }
            time::sleep_until_async(self.next()).await;
        }
    }

    /// An arm of a [select](mod@crate::select); `select!` writes it as `ticks.recv()`.
    pub fn recv_arm(&self) -> impl Arm<Output = Result<Instant, RecvError>> {
        TicksArm(self)
    }

    /// Is a message there?
    pub fn is_ready(&self) -> bool {
        let next = self.next();
        next != Instant::NEVER && time::now() >= next
    }
}

struct TicksArm<'a>(&'a Ticks);

// SAFETY: this arm is never linked.
unsafe impl Arm for TicksArm<'_> {
    type Output = Result<Instant, RecvError>;
    unsafe fn attempt(&mut self, _: Caller, _: Option<&Waker>) -> Option<Self::Output> {
        self.0.take().ok().map(Ok)
    }
    /// A clone may take a message; then the time of the next grows.
    unsafe fn reattempt(&mut self, caller: Caller, waker: Option<&Waker>, seen: &mut u64) -> Option<Self::Output> {
        *seen = seen.wrapping_add(self.0.next().as_nanos());
        // SAFETY: this arm is never linked, nor does it matter where it stands: its `attempt`
        // demands nothing else.
        unsafe { self.attempt(caller, waker) }
    }
    fn deadline(&mut self) -> Option<Instant> {
        Some(self.0.next())
    }
}
