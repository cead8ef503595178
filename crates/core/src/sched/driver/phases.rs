//! How long a worker was idle and busy of late, where its pool has a reactor: for how long it looks
//! around before it sleeps, and whether it hands the reactor over.
//!
//! Without a reactor a worker looks around for 50 µs: what it waits for comes from other workers,
//! and these are fast. What comes from a socket comes at any time, and at 20,000 requests a second
//! each would cost those 50 µs. So a worker looks around only while that pays: as long as its idle
//! phases have been shorter, on the average, than the time for which it looks.

use myriad_base::sys::choice::ticks_per_us;
use std::cell::Cell;

/// With a reactor it looks for so long, in microseconds, or not at all.
const LOOK_US: u64 = 20;
/// One idle phase counts so much at most, so that a night without requests is soon forgotten.
const LONGEST_US: u64 = 8 * LOOK_US;
/// A worker whose last tasks kept it from the reactor for so long, in microseconds, hands it over.
/// (Less would wake another worker for each batch of requests: 0 to 19 % of the rate of an echo
/// server.)
const LONG_US: u64 = 1000;

/// The phases of a worker. All times are ticks.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    /// Eight times the mean of the idle ones.
    idle: Cell<u64>,
    /// When the last idle one ended.
    busy_since: Cell<u64>,
    /// How long the last busy one was.
    busy: Cell<u64>,
}

impl Phases {
    /// It finds nothing.
    pub(crate) fn idle_begins(&self, now: u64) {
        self.busy.set(now.saturating_sub(self.busy_since.get()));
    }

    /// It has found something, after it had looked since `began`.
    pub(crate) fn idle_ends(&self, began: u64, now: u64) {
        let idle = self.idle.get();
        self.idle.set(idle - idle / 8 + now.saturating_sub(began).min(LONGEST_US * ticks_per_us()));
        self.busy_since.set(now);
    }

    /// For how many ticks the next idle phase is worth while to look around in.
    pub(crate) fn look(&self) -> u64 {
        let look = LOOK_US * ticks_per_us();
        if self.idle.get() / 8 < look { look } else { 0 }
    }

    /// Was the last busy one long?
    pub(crate) fn was_long(&self) -> bool {
        self.busy.get() >= LONG_US * ticks_per_us()
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    /// Eight idle phases of so many microseconds.
    fn idle(phases: &Phases, us: u64) {
        (0..32).for_each(|_| phases.idle_ends(0, us * ticks_per_us()));
    }

    #[test]
    fn it_looks_around_while_that_pays() {
        let phases = Phases::default();
        idle(&phases, 5);
        assert!(phases.look() > 0, "all come soon");
        idle(&phases, 50);
        assert_eq!(phases.look(), 0, "none comes soon");
        phases.idle_ends(0, u64::MAX);
        idle(&phases, 5);
        assert!(phases.look() > 0, "a long one is forgotten");
    }

    #[test]
    fn a_long_task_is_seen_when_it_is_over() {
        let phases = Phases::default();
        phases.idle_ends(0, 100);
        phases.idle_begins(100 + 20 * ticks_per_us());
        assert!(!phases.was_long());
        phases.idle_begins(100 + 2 * LONG_US * ticks_per_us());
        assert!(phases.was_long());
    }
}
