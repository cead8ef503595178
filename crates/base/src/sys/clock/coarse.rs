//! A look at the clock that is cheap where the answer is clear: the time of the system's last tick.
//!
//! To read the monotonic clock takes 45 ns on a virtual machine of an AMD EPYC, two thirds of what
//! setting a timer took; the time of the last tick takes 6 ns. It is at most some milliseconds old
//! (a tick comes each 1 to 10 ms, and before a processor that was idle goes on). So what is further
//! away than [`MOST_AGE`] is still to come, and the exact clock is not asked.
//!
//! **When that is wrong.** Only where the system was kept from its tick for longer than that, and a
//! program runs before the tick is made up for. Then a deadline that has passed is taken for one to
//! come, for as long. Who asks must live with that: a timer that was set late fires at the next
//! look, and nothing ever fires too early.
//!
//! **Rejected.** The processor's ticks, with a rate: 11 ns, and the rate is an estimate. To compare
//! with the time of the worker's last look: a poll that computes for a second has none.

use super::Instant;
use super::system::last_tick;

/// What the time of the last tick is surely not older than, in nanoseconds.
const MOST_AGE: u64 = 64_000_000;

/// Is this time still to come, as far as the last tick says? False says nothing.
#[inline]
pub(super) fn is_far_off(at: Instant) -> bool {
    last_tick().is_some_and(|tick| tick.saturating_add(MOST_AGE) < at.as_nanos())
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod test {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_last_tick_is_no_later_than_now_and_not_old() {
        let mut before = 0;
        for _ in 0..100_000 {
            let tick = last_tick().expect("Linux has the clock");
            let now = Instant::real_now().as_nanos();
            assert!(before <= tick, "the tick goes back from {before} to {tick}");
            assert!(tick <= now, "the tick at {tick} is to come: it is {now}");
            before = tick;
        }
        // It goes on.
        let first = last_tick();
        while last_tick() == first {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn what_is_near_or_over_is_not_far_off() {
        let now = Instant::real_now();
        assert!(!is_far_off(now));
        assert!(!is_far_off(Instant::from_nanos(0)));
        assert!(!is_far_off(now + Duration::from_millis(30)));
        assert!(is_far_off(now + Duration::from_secs(3600)));
        assert!(is_far_off(Instant::NEVER));
    }
}
