//! The time of day, for jobs that wait for one.
//!
//! The machine's own time knows nothing of a clock that is set, or of a system that sleeps. So the
//! clock is looked at again before such a job begins, and at least every [`LOOK`] until then.

use super::spec::OfDay;
use super::{Machine, Time};

/// As long as a series of jobs waits at most between two looks.
const LOOK: Time = 20_000_000_000;

impl<P: Clone> Machine<P> {
    fn left(&self, at: OfDay) -> Time {
        at.saturating_sub((self.rules.clock)())
    }

    /// When to look again for a job that waits for this time of day. Now: it has come.
    pub(super) fn next_look(&self, at: OfDay) -> Time {
        self.now.saturating_add(self.left(at).min(LOOK))
    }

    /// When a job begins that waits for its time, as the clock says by now.
    pub(super) fn begin_of(&self, id: u64) -> Time {
        let rare = self.table.get(id).and_then(|job| job.rare());
        rare.map_or(0, |rare| rare.at.map_or(rare.begin, |at| self.now.saturating_add(self.left(at))))
    }
}
