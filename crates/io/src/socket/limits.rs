//! How long an operation on a socket may take.

use myriad_core::time::{self, Instant};
use std::io;
use std::time::Duration;
// Std's: a limit that is set is told to those that wait, by a lock.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The limits of both directions. In nanoseconds; [`NONE`]: none.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    input: Limit,
    output: Limit,
}

#[derive(Debug)]
pub(crate) struct Limit {
    timeout: AtomicU64,
    deadline: AtomicU64,
}

const NONE: u64 = u64::MAX;

impl Default for Limit {
    fn default() -> Limit {
        Limit { timeout: AtomicU64::new(NONE), deadline: AtomicU64::new(NONE) }
    }
}

/// When an operation began, in nanoseconds; [`NONE`]: there was no time-out then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began(u64);

impl Began {
    /// No time-out counts.
    pub(crate) const UNLIMITED: Began = Began(NONE);
    /// Of an operation that needs no readiness, and so no time.
    pub(crate) const FREE: Began = Began(NONE - 1);

    pub(crate) fn is_free(self) -> bool {
        self.0 == Began::FREE.0
    }
}

impl Limits {
    pub(crate) fn of(&self, output: bool) -> &Limit {
        if output { &self.output } else { &self.input }
    }

    /// None.
    pub(super) fn renew(&self) {
        for limit in [&self.input, &self.output] {
            limit.timeout.store(NONE, Relaxed);
            limit.deadline.store(NONE, Relaxed);
        }
    }
}

impl Limit {
    /// An operation begins.
    pub(crate) fn begin(&self) -> Began {
        if self.timeout.load(Relaxed) == NONE { Began::UNLIMITED } else { Began(time::now().as_nanos()) }
    }

    /// Until when an operation that began then may take.
    pub(crate) fn until(&self, began: Began) -> Option<Instant> {
        let deadline = self.deadline.load(Relaxed);
        let timeout = self.timeout.load(Relaxed);
        // (One that began before there was a time-out goes on without.)
        let timeout = if began.0 == NONE { NONE } else { began.0.saturating_add(timeout) };
        Some(deadline.min(timeout)).filter(|&nanos| nanos != NONE).map(Instant::from_nanos)
    }

    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            let text = "a time-out of zero: `None` is none, and a deadline that has passed ends each wait";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let nanos = timeout.map_or(NONE, |timeout| u64::try_from(timeout.as_nanos()).unwrap_or(NONE));
        self.timeout.store(nanos, Relaxed);
        Ok(())
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        Some(self.timeout.load(Relaxed)).filter(|&nanos| nanos != NONE).map(Duration::from_nanos)
    }

    pub(crate) fn set_deadline(&self, deadline: Option<Instant>) {
        self.deadline.store(deadline.map_or(NONE, Instant::as_nanos), Relaxed);
    }
}
