//! The machine's monotonic clock as a number: nanoseconds since this process first asked.
//!
//! On Linux by the system's call itself. Around that call std's `Instant` checks, subtracts and
//! multiplies two pairs of numbers: two readings in a job took 54 to 163 instructions more.

use crate::sys::fact::Fact;

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
pub(super) use linux::{last_tick, now};
#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
pub(super) use others::{last_tick, now};

#[cfg(all(target_os = "linux", not(loom), not(miri)))]
mod linux {
    use super::Fact;
    use crate::sys::thread::abort_with;

    /// When this process first asked.
    #[inline]
    fn start() -> u64 {
        static START: Fact<u64> = Fact::new();
        *START.get(monotonic)
    }

    #[inline]
    fn monotonic() -> u64 {
        // (Each Linux has this clock.)
        read(libc::CLOCK_MONOTONIC).unwrap_or_else(|| abort_with("the system does not tell the time"))
    }

    #[inline]
    fn read(clock: libc::clockid_t) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the place for the time is a local one.
        let read = unsafe { libc::clock_gettime(clock, &raw mut time) } == 0;
        read.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    #[inline]
    pub(in super::super) fn now() -> u64 {
        // (The start is read first, so it is no later.)
        let start = start();
        monotonic().saturating_sub(start)
    }

    /// The time of the system's last tick; 0 before the first one. `None`: it is not to be had.
    #[inline]
    pub(in super::super) fn last_tick() -> Option<u64> {
        let start = start();
        Some(read(libc::CLOCK_MONOTONIC_COARSE)?.saturating_sub(start))
    }
}

#[cfg(not(all(target_os = "linux", not(loom), not(miri))))]
mod others {
    use super::Fact;
    use std::time::Instant;

    pub(in super::super) fn now() -> u64 {
        static START: Fact<Instant> = Fact::new();
        START.get(Instant::now).elapsed().as_nanos() as u64
    }

    pub(in super::super) fn last_tick() -> Option<u64> {
        None
    }
}
