//! The clock: nanoseconds since the process first asked.
//!
//! One number type for real and virtual time, so that a deadline is a plain comparison in timers
//! and in the idle loop.

use super::fact::Fact;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// A point in time of the monotonic clock, in whole nanoseconds; like `std::time::Instant`, but a
/// plain number inside, and virtual where the runtime's clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// No timer ever fires at this instant: some 580 years after the start.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The machine's monotonic clock, also inside a runtime with a virtual one.
    pub fn real_now() -> Instant {
        static START: Fact<std::time::Instant> = Fact::new();
        Instant(START.get(std::time::Instant::now).elapsed().as_nanos() as u64)
    }
    /// From nanoseconds since the start of the clock.
    pub const fn from_nanos(nanos: u64) -> Instant {
        Instant(nanos)
    }
    /// Nanoseconds since the start of the clock.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// How long `earlier` lies before this instant; zero if it does not.
    pub fn saturating_duration_since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
    /// How long `earlier` lies before this instant; zero if it does not (as std's).
    pub fn duration_since(self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }
    /// The instant `d` later, or `None` beyond the end of the clock.
    pub fn checked_add(self, d: Duration) -> Option<Instant> {
        u64::try_from(d.as_nanos()).ok().and_then(|n| self.0.checked_add(n)).map(Instant)
    }
    /// The instant `d` later, or [`NEVER`](Self::NEVER).
    pub fn saturating_add(self, d: Duration) -> Instant {
        self.checked_add(d).unwrap_or(Instant::NEVER)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    /// Saturates at [`Instant::NEVER`].
    fn add(self, d: Duration) -> Instant {
        self.saturating_add(d)
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d
    }
}
impl Sub<Duration> for Instant {
    type Output = Instant;
    /// Saturates at the clock's start.
    fn sub(self, d: Duration) -> Instant {
        Instant(self.0.saturating_sub(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
    }
}
impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, d: Duration) {
        *self = *self - d
    }
}
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }
}
