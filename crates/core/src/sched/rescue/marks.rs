//! When all waits are to be marked, so that a later dump knows for how long each has lasted.
//!
//! ```text
//!  monitor   a worker is awake: asks for marks, at most so often; all sleep: asks for the last time
//!  marker    one walk through all tasks; says when the next may be asked for
//! ```
//! A task notes no time when it begins to wait, which would cost each wait two instructions: the
//! first look that finds it there marks it. Where dumps on a signal are asked for the monitor has
//! such looks made as long as anything moves, so the first dump of a program that hangs says for
//! how long. While all sleep nothing changes, and nobody looks.
//!
//! The marker is a floor above, on a thread of its own. Nothing is asked for before there is one.

use myriad_base::sys::clock::Instant;
use myriad_base::sys::hooks::Hooks;
// Std's: a hint.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// So often at most.
const INTERVAL: Duration = Duration::from_millis(100);
/// So many times as long as a walk takes nobody asks for the next: marks cost a fiftieth of a
/// processor at most.
const REST: u32 = 50;

static MARKER: Hooks<fn(), 1> = Hooks::new();
static NEXT: Pause = Pause(AtomicU64::new(0));

/// When the next walk may be asked for, in nanoseconds.
struct Pause(AtomicU64);

impl Pause {
    /// A walk has ended, which took so long.
    fn rest(&self, now: Instant, took: Duration) {
        self.0.store((now + INTERVAL.max(took * REST)).as_nanos(), Relaxed);
    }

    /// Is it time? (By the monitor alone.) Else: how long it is until then.
    fn is_due(&self, now: Instant) -> Result<(), Duration> {
        let left = self.0.load(Relaxed).saturating_sub(now.as_nanos());
        if left > 0 {
            return Err(Duration::from_nanos(left));
        }
        self.rest(now, Duration::ZERO);
        Ok(())
    }
}

/// From now on this is called when marks are due: on the monitor's thread, under no lock, so it
/// waits for nothing.
pub(crate) fn when_due(marker: fn()) {
    MARKER.set(0, marker);
}

/// A walk has ended, which took so long.
pub(crate) fn have_been_set(now: Instant, took: Duration) {
    NEXT.rest(now, took);
}

/// Asks for marks, if they are due. Else: how long it is until then.
pub(super) fn ask(now: Instant) -> Option<Duration> {
    let marker = MARKER.get(0)?;
    let due = NEXT.is_due(now);
    if due.is_ok() {
        marker();
    }
    due.err()
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use myriad_base::sys::clock;

    #[test]
    fn marks_are_due_now_and_then() {
        let (next, now) = (Pause(AtomicU64::new(0)), clock::system_now());
        assert_eq!(next.is_due(now), Ok(()));
        assert_eq!(next.is_due(now), Err(INTERVAL));
        let later = now + INTERVAL;
        assert_eq!(next.is_due(later), Ok(()));
        // A walk through a million tasks.
        next.rest(later, Duration::from_millis(200));
        assert_eq!(next.is_due(later + INTERVAL), Err(Duration::from_millis(9_900)));
    }
}
