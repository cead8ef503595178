//! The children of a supervisor.

use super::child::{Child, Started};
use crate::link::kill;
use crate::monitor::monitor;
use crate::reason::Reason;
use myriad_core::time::Instant;
use std::collections::{HashMap, VecDeque};
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
}

/// Children by the order of their start, which is that of their places.
#[derive(Default)]
pub(super) struct Table {
    places: Vec<Option<Entry>>,
    free: Vec<usize>,
    by_id: HashMap<Arc<str>, usize>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn find(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(super) fn get(&mut self, at: usize) -> Option<&mut Entry> {
        self.places.get_mut(at)?.as_mut()
    }

    /// A new child, behind all others; of a dynamic supervisor, where the order says nothing, in
    /// any place.
    pub(super) fn insert(&mut self, child: Child, anywhere: bool) -> usize {
        let id = child.id.clone();
        let entry = Entry { child, running: None, generation: 0, restarts: 0, last: None };
        let at = match if anywhere { self.free.pop() } else { None } {
            Some(at) => {
                self.places[at] = Some(entry);
                at
            }
            None => {
                self.places.push(Some(entry));
                self.places.len() - 1
            }
        };
        self.by_id.insert(id, at);
        at
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Entry> {
        let entry = self.places.get_mut(at)?.take()?;
        self.by_id.remove(&entry.child.id);
        self.free.push(at);
        Some(entry)
    }

    /// The places that are in use, from this one on.
    pub(super) fn from(&self, at: usize) -> Vec<usize> {
        (at..self.places.len()).filter(|&at| self.places[at].is_some()).collect()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().flatten()
    }
}

/// The supervisor has gone by a kill or a panic: its children go, too, before anybody is told.
impl Drop for Table {
    fn drop(&mut self) {
        let running = || self.entries().filter_map(|entry| entry.running.as_ref());
        running().for_each(|started| kill(&started.pid));
        running().for_each(|started| drop(monitor(&started.pid).wait()));
    }
}

/// When there were restarts: at most `most` in any `period`.
pub(super) struct Intensity {
    most: usize,
    period: Duration,
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
    use super::Intensity;
    use myriad_core::time::Instant;
    use std::time::Duration;

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
