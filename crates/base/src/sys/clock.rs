//! The clock: nanoseconds since the process first asked.
//!
//! One number type for real and virtual time, so that a deadline is a plain comparison in timers
//! and in the idle loop. Who reads which clock:
//!
//! | what | clock | why |
//! |---|---|---|
//! | `time::now`, sleeps and limits of a task | its pool's [`Clock`] | what a task sees of time is what a test moves |
//! | waits and limits of a foreign thread | [`system_now`] | the thread is of no runtime, so it has no clock of one |
//! | the monitor: who is stuck, who gets help | [`system_now`] | to compute, or wait in the system, takes real time |
//! | a shutdown's patience, and its grace | [`system_now`] | who shuts down waits, and can move no clock meanwhile |
//! | how long idle threads are kept | [`system_now`] | a thread costs the system, and no task sees it |
//!
//! So under a manual clock nothing happens to tasks while the clock stands still, and all that the
//! runtime does for itself goes on: a task that waits for a lock of the system still gets a spare
//! worker, a shutdown still gives up, and a clock that is moved by an hour reports no worker as
//! stuck. The runtime's own time passes through [`system_now`] and the three sleeps beside it,
//! which are the one place where a simulation has to decide it. What is short, and measured in
//! [ticks](super::choice), is no time of anybody's.

mod coarse;
mod system;

use super::mutex::{Condvar, MutexGuard};
// Not through `sys`: a number that is no part of a protocol, and std's sleeps.
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

/// A point in time of the monotonic clock, in whole nanoseconds; like `std::time::Instant`, but a
/// plain number inside, and virtual where the runtime's clock is.
///
/// # Examples
/// ```
/// # mod myriad { pub mod time { pub use myriad_base::sys::clock::Instant; } }
/// use myriad::time::Instant;
/// use std::time::Duration;
/// let start = Instant::from_nanos(1_000);
/// let end = start + Duration::from_nanos(500);
/// assert_eq!((end.as_nanos(), end - start), (1_500, Duration::from_nanos(500)));
/// assert_eq!(start.duration_since(end), Duration::ZERO, "as with std");
/// assert_eq!(start.saturating_duration_since(end), Duration::ZERO);
/// assert_eq!(Instant::NEVER.checked_add(Duration::from_nanos(1)), None);
/// assert_eq!(end.saturating_add(Duration::MAX), Instant::NEVER);
/// assert!(Instant::real_now() <= Instant::real_now());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// No timer ever fires at this instant: some 580 years after the start.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// The machine's monotonic clock, also inside a runtime with a virtual one. What time it is for
    /// a task, as std's `Instant::now` tells, says `myriad::time::now()`.
    #[doc(alias = "now")]
    #[inline]
    pub fn real_now() -> Instant {
        Instant(system::now())
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

/// The time of what a runtime does for itself, and of threads that are of no runtime. The machine's
/// clock.
#[inline]
pub fn system_now() -> Instant {
    Instant::real_now()
}

/// Has this time come? As [`Clock::has_come`], in the time of [`system_now`].
#[inline]
pub fn system_has_come(at: Instant) -> bool {
    !coarse::is_far_off(at) && system_now() >= at
}

/// The calling thread sleeps, in the time of [`system_now`].
pub fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// The calling thread sleeps until it is unparked (std's), or for so long in the time of
/// [`system_now`], or for no reason.
pub fn park(most: Duration) {
    std::thread::park_timeout(most);
}

/// Waits until `condvar` is notified, or for so long in the time of [`system_now`], or for no
/// reason. True: the time has passed.
pub fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>, most: Duration) -> (MutexGuard<'a, T>, bool) {
    let (guard, timeout) = condvar.0.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner);
    (guard, timeout.timed_out())
}

/// Waits as long as `is_early` holds of what is under the lock, for so long in the time of
/// [`system_now`]. True: it still holds.
pub fn wait_while<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    most: Duration,
    is_early: impl FnMut(&mut T) -> bool,
) -> (MutexGuard<'a, T>, bool) {
    let (guard, timeout) = condvar.0.wait_timeout_while(guard, most, is_early).unwrap_or_else(PoisonError::into_inner);
    (guard, timeout.timed_out())
}

/// The clock of a pool's tasks: the machine's, or one that stands still until it is moved.
#[derive(Debug)]
pub struct Clock {
    /// Nanoseconds; `REAL` where time is the machine's.
    manual: AtomicU64,
}

const REAL: u64 = u64::MAX;

impl Clock {
    /// The machine's.
    pub const fn real() -> Clock {
        Clock { manual: AtomicU64::new(REAL) }
    }
    /// It is used anew: from 0, if it is to be manual.
    pub fn begin(&self, manual: bool) {
        self.manual.store(if manual { 0 } else { REAL }, Relaxed);
    }
    /// The time.
    #[inline]
    pub fn now(&self) -> Instant {
        // Acquire: pairs with the AcqRel in `advance`: what its mover did before.
        match self.manual.load(Acquire) {
            REAL => Instant::real_now(),
            nanos => Instant(nanos),
        }
    }
    /// Has this time come? In a seventh of what [`now`](Self::now) takes if it is more than 64 ms
    /// away; then "no" may be wrong where the machine stood still: see `clock/coarse.rs`.
    #[inline]
    pub fn has_come(&self, at: Instant) -> bool {
        // Acquire: as in `now`.
        match self.manual.load(Acquire) {
            REAL => system_has_come(at),
            nanos => nanos >= at.0,
        }
    }
    /// Does it stand still until it is moved?
    #[inline]
    pub fn is_manual(&self) -> bool {
        self.manual.load(Relaxed) != REAL
    }
    /// Moves it. Only a manual one.
    pub fn advance(&self, by: Duration) {
        debug_assert!(self.is_manual(), "the machine's clock moves by itself");
        self.manual.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX / 2), AcqRel);
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
