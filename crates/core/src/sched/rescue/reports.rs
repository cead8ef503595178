//! What is to be told about workers that are stuck: the queue of one pool, between the monitor and
//! the thread that tells ([`super::tell`]).
//!
//! **Invariant.** Reports are queued only while a thread is there to tell them, or the monitor is
//! about to start one ([`Reports::begin`]); at most one is.
//!
//! The queue is bounded, because who is told may never come back. A report that has no place is
//! lost, the newest and not the oldest: who was stuck first is more likely to be the reason. All is
//! under the monitor's lock, so a fork finds the queue whole, and a child forgets it with the rest
//! of the parent's.

use super::stuck::Stuck;
use std::collections::VecDeque;

/// So many wait at most. (`OnStuck` says so.)
const MOST: usize = 64;

/// See the module's header.
#[derive(Debug, Default)]
pub(super) struct Reports {
    queue: VecDeque<Stuck>,
    /// Lost since the last one that was queued.
    lost: usize,
    /// Somebody tells.
    telling: bool,
}

impl Reports {
    /// Queues it, or counts it as lost.
    pub(super) fn push(&mut self, report: Stuck) {
        if self.queue.len() == MOST {
            self.lost += 1;
            return;
        }
        let lost = std::mem::take(&mut self.lost);
        self.queue.push_back(Stuck { lost, ..report });
    }

    /// Is there something to tell, and nobody who does it? Then the caller has somebody do it.
    pub(super) fn begin(&mut self) -> bool {
        let begins = !self.telling && !self.queue.is_empty();
        self.telling |= begins;
        begins
    }

    /// For the one who tells: the next one. `None`: there is no other, and it tells no more.
    pub(super) fn next(&mut self) -> Option<Stuck> {
        let next = self.queue.pop_front();
        self.telling = next.is_some();
        next
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::{MOST, Reports, Stuck};
    use std::panic::Location;
    use std::time::Duration;

    fn report(worker: usize) -> Stuck {
        let location = Location::caller();
        Stuck { runtime: String::new(), worker, name: None, location, duration: Duration::ZERO, blocked: None, lost: 0 }
    }

    fn next(reports: &mut Reports) -> Option<(usize, usize)> {
        reports.next().map(|report| (report.worker, report.lost))
    }

    #[test]
    fn the_next_report_says_how_many_were_lost() {
        let mut reports = Reports::default();
        (0..MOST + 3).for_each(|i| reports.push(report(i)));
        assert_eq!(next(&mut reports), Some((0, 0)));
        reports.push(report(100));
        reports.push(report(101));
        (1..MOST).for_each(|i| assert_eq!(next(&mut reports), Some((i, 0))));
        assert_eq!(next(&mut reports), Some((100, 3)));
        reports.push(report(102));
        assert_eq!(next(&mut reports), Some((102, 1)));
        assert_eq!(next(&mut reports), None);
    }

    #[test]
    fn one_tells_as_long_as_there_is_something() {
        let mut reports = Reports::default();
        assert!(!reports.begin(), "nothing to tell");
        reports.push(report(0));
        assert!(reports.begin());
        reports.push(report(1));
        assert!(!reports.begin(), "somebody tells");
        assert_eq!([next(&mut reports), next(&mut reports)], [Some((0, 0)), Some((1, 0))]);
        reports.push(report(2));
        assert!(!reports.begin(), "somebody will ask for the next one");
        assert_eq!([next(&mut reports), next(&mut reports)], [Some((2, 0)), None]);
        reports.push(report(3));
        assert!(reports.begin());
    }
}
