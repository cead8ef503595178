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
/// Not before this time, in nanoseconds.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// From now on this is called when marks are due: on the monitor's thread, under no lock, so it
/// waits for nothing.
pub(crate) fn when_due(marker: fn()) {
    MARKER.set(0, marker);
}

/// A walk has ended, which took so long.
pub(crate) fn have_been_set(now: Instant, took: Duration) {
    let next = now + INTERVAL.max(took * REST);
    NEXT.store(next.as_nanos(), Relaxed);
}

/// Asks for marks, if they are due. Else: how long it is until then.
pub(super) fn ask(now: Instant) -> Option<Duration> {
    let marker = MARKER.get(0)?;
    let left = NEXT.load(Relaxed).saturating_sub(now.as_nanos());
    if left > 0 {
        return Some(Duration::from_nanos(left));
    }
    have_been_set(now, Duration::ZERO);
    marker();
    None
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use myriad_base::sys::clock;

    /// (One test: the table of the marker is the process's.)
    #[test]
    fn marks_are_asked_for_now_and_then() {
        static ASKED: AtomicU64 = AtomicU64::new(0);
        let now = clock::system_now();
        when_due(|| _ = ASKED.fetch_add(1, Relaxed));
        assert_eq!((ask(now), ASKED.load(Relaxed)), (None, 1));
        assert_eq!((ask(now), ASKED.load(Relaxed)), (Some(INTERVAL), 1));
        let later = now + INTERVAL;
        assert_eq!((ask(later), ASKED.load(Relaxed)), (None, 2));
        // A walk through a million tasks.
        have_been_set(later, Duration::from_millis(200));
        assert_eq!((ask(later + INTERVAL), ASKED.load(Relaxed)), (Some(Duration::from_millis(9_900)), 2));
    }
}
