//! Channels whose messages are times: [`after`], [`tick`], [`never`].
//!
//! There is no sender, no task and no buffer: a receiver looks at the clock, and who waits sets a timer of its own. So one that is
//! dropped, or that nobody asks, costs nothing.

use super::error::{RecvError, RecvTimeoutError, TryRecvError};
use crate::select::Arm;
use myriad_core::time::{self, Instant};
use myriad_core::wait::Here;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

/// A channel with one message, the time, which comes after `duration`; then none ever comes. Clones share it.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use myriad_sync::channel::after;
/// let timer = after(Duration::from_millis(2));
/// assert!(timer.try_recv().is_err());
/// assert!(timer.recv().unwrap() <= myriad_core::time::now());
/// assert!(timer.recv_timeout(Duration::from_millis(1)).is_err(), "there was one");
/// ```
#[must_use]
pub fn after(duration: Duration) -> Ticks {
    Ticks::new(time::now() + duration, Duration::MAX)
}

/// A channel whose messages are times: the first comes after `period`, and then one in each period. One that nobody has received
/// when the next is due is lost: a slow receiver is told the time, not how often it was late. Clones share the messages.
///
/// # Panics
/// If the period is zero.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let ticks = myriad_sync::channel::tick(Duration::from_millis(1));
/// let (first, second) = (ticks.recv().unwrap(), ticks.recv().unwrap());
/// assert!(second > first);
/// ```
#[must_use]
pub fn tick(period: Duration) -> Ticks {
    assert!(!period.is_zero(), "ticks need a period that is longer than nothing");
    Ticks::new(time::now() + period, period)
}

/// A channel on which nothing ever comes.
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
    /// # Errors
    /// None is there now. (Never that it is closed.)
    pub fn try_recv(&self) -> Result<Instant, TryRecvError> {
        let mut next = self.next();
        if next == Instant::NEVER {
            return Err(TryRecvError::Empty);
        }
        let now = time::now();
        while now >= next {
            // In step with the first, as far as possible: the one after that which is due now.
            let period = u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX);
            let late = (now - next).as_nanos() as u64 / period;
            let following = next + Duration::from_nanos(period.saturating_mul(late + 1));
            match self.next.compare_exchange(next.as_nanos(), following.as_nanos(), Relaxed, Relaxed) {
                Ok(_) => return Ok(now),
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
            if let Ok(time) = self.try_recv() {
                return Ok(time);
            }
            if deadline != Instant::NEVER && time::now() >= deadline {
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
            if let Ok(time) = self.try_recv() {
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

// SAFETY: never linked.
unsafe impl Arm for TicksArm<'_> {
    type Output = Result<Instant, RecvError>;
    unsafe fn attempt(&mut self, _: Here, _: Option<&Waker>) -> Option<Self::Output> {
        self.0.try_recv().ok().map(Ok)
    }
    fn deadline(&mut self) -> Option<Instant> {
        Some(self.0.next())
    }
}
