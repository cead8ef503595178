//! The children of a supervisor.

use super::child::{Child, Started};
use crate::frame::put_off;
use crate::link::kill;
use crate::monitor::monitor;
use crate::pid::Pid;
use crate::reason::Reason;
use myriad_core::engine::running::UnderWay;
use myriad_core::time::Instant;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A child, running or not.
pub(super) struct Entry {
    pub(super) child: Child,
    pub(super) running: Option<Started>,
    /// Counts the incarnations: a down of an older one is nothing.
    pub(super) generation: u64,
    pub(super) restarts: u64,
    pub(super) last: Option<Reason>,
    /// It has ended and is to be started anew, and that has not succeeded yet.
    pub(super) is_wanted: bool,
}

/// Children by the order of their start, which is that of their places. No two children ever have
/// the same place.
pub(super) struct Table {
    places: BTreeMap<u64, Entry>,
    next: u64,
    by_id: HashMap<Arc<str>, u64>,
    /// The supervisor's.
    task: UnderWay,
}

impl Table {
    /// The table of a supervisor whose task this is.
    pub(super) fn new(task: UnderWay) -> Table {
        Table { places: BTreeMap::new(), next: 0, by_id: HashMap::new(), task }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn find(&self, id: &str) -> Option<u64> {
        self.by_id.get(id).copied()
    }

    pub(super) fn get(&mut self, at: u64) -> Option<&mut Entry> {
        self.places.get_mut(&at)
    }

    /// A new child, behind all others.
    pub(super) fn insert(&mut self, child: Child) -> u64 {
        let at = self.next;
        self.next += 1;
        self.by_id.insert(child.id.clone(), at);
        let entry = Entry { child, running: None, generation: 0, restarts: 0, last: None, is_wanted: false };
        self.places.insert(at, entry);
        at
    }

    pub(super) fn remove(&mut self, at: u64) -> Option<Entry> {
        let entry = self.places.remove(&at)?;
        self.by_id.remove(&entry.child.id);
        Some(entry)
    }

    /// The places of those that run, from this one on, the last one first.
    pub(super) fn running_from(&self, at: u64) -> Vec<u64> {
        let running = self.places.range(at..).filter(|(_, entry)| entry.running.is_some());
        running.rev().map(|(&at, _)| at).collect()
    }

    /// The places of those that are to be started anew, in the order of their start.
    pub(super) fn wanted(&self) -> Vec<u64> {
        self.places.iter().filter(|(_, entry)| entry.is_wanted).map(|(&at, _)| at).collect()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.places.values()
    }
}

/// The supervisor has gone by a kill or a panic: its children go, too, before anybody is told.
impl Drop for Table {
    fn drop(&mut self) {
        let running = self.entries().filter_map(|entry| Some(entry.running.as_ref()?.pid.clone()));
        let orphans = Orphans { running: running.collect(), task: self.task };
        if orphans.running.is_empty() {
            return;
        }
        // An unwinding is no place to wait: they end with what it puts off.
        if std::thread::panicking() { drop(put_off(orphans)) } else { drop(orphans) }
    }
}

/// Children without a supervisor, which end with this.
struct Orphans {
    running: Vec<Pid>,
    task: UnderWay,
}

impl Drop for Orphans {
    fn drop(&mut self) {
        self.running.iter().for_each(kill);
        // Where another one drops this the supervisor's runtime ends, and nobody may run what the
        // children need to end.
        if UnderWay::here() == self.task {
            self.running.iter().for_each(|child| drop(monitor(child).wait()));
        }
    }
}

/// When there were restarts: at most `most` in any `period`.
pub(super) struct Intensity {
    pub(super) most: usize,
    pub(super) period: Duration,
    times: VecDeque<Instant>,
}

impl Intensity {
    pub(super) fn new(most: usize, period: Duration) -> Intensity {
        Intensity { most, period, times: VecDeque::new() }
    }

    /// One more. False: that is too many. O(1) each in the long run.
    pub(super) fn count(&mut self, now: Instant) -> bool {
        while self.times.front().is_some_and(|&first| now.saturating_duration_since(first) >= self.period) {
            self.times.pop_front();
        }
        if self.times.len() >= self.most {
            return false;
        }
        self.times.push_back(now);
        true
    }
}

#[cfg(test)]
mod test {
    use super::super::Child;
    use super::{Intensity, Table};
    use crate::reason::Reason;
    use myriad_core::engine::running::UnderWay;
    use myriad_core::time::Instant;
    use std::time::Duration;

    #[test]
    fn what_was_removed_leaves_nothing() {
        let mut table = Table::new(UnderWay::here());
        for _ in 0..1000 {
            let at = table.insert(Child::new::<()>("child", || Err(Reason::Normal)));
            assert!(table.remove(at).is_some() && table.remove(at).is_none());
        }
        assert_eq!((table.places.len(), table.len()), (0, 0));
    }

    /// OTP counts whole seconds, and kameo until there is a gap: both end this program.
    #[test]
    fn the_window_is_a_true_one() {
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        let mut window = Intensity::new(2, Duration::from_secs(1));
        assert!((0..1000).all(|n| window.count(ms(n * 600))));
        let mut window = Intensity::new(2, Duration::from_secs(1));
        assert_eq!((0..).position(|n| !window.count(ms(n * 400))), Some(2));
        let mut window = Intensity::new(3, Duration::from_millis(500));
        assert!((0..1000).all(|n| window.count(ms(n * 300))));
        assert!(!Intensity::new(0, Duration::from_secs(1)).count(ms(0)));
    }
}
