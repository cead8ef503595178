//! The jobs of a line, in order.
//!
//! The first ones stand in a ring, from which the line is served. What is behind them stands in
//! pieces of memory, which go back to the system when a backlog is gone, and comes into the ring a
//! piece at a time.

use myriad_base::pieces::Rows;
use std::collections::VecDeque;

/// A job in a line: its place among equal ones, and its number.
pub(super) type Entry = (u64, u64);

/// The ring takes new ones at its end while it has fewer than these, and nothing is behind it.
const NEAR: usize = 512;
/// Who serves the line looks at so many of the first ones.
const SEEN: usize = 3;

/// In ascending order.
///
/// **Invariant.** All in `near` are before all in `far`; and if `far` has some, `near` has at least
/// `SEEN`.
#[derive(Debug, Default)]
pub(super) struct Entries {
    near: VecDeque<Entry>,
    far: Rows<Entry>,
}

impl Entries {
    #[inline]
    pub(super) fn front(&self) -> Option<&Entry> {
        self.near.front()
    }
    /// One of the first `SEEN`.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<&Entry> {
        debug_assert!(at < SEEN);
        self.near.get(at)
    }
    #[inline]
    pub(super) fn pop_front(&mut self) {
        self.near.pop_front();
        if self.near.len() < SEEN && !self.far.is_empty() {
            self.far.move_first_piece(&mut self.near);
        }
    }
    fn back(&self) -> Option<&Entry> {
        match self.far.len() {
            0 => self.near.back(),
            len => Some(&self.far[len - 1]),
        }
    }
    /// One more, where it belongs: mostly at the end. (Or it is there still.)
    #[inline]
    pub(super) fn insert(&mut self, entry: Entry) {
        if self.back().is_some_and(|last| *last >= entry) {
            self.insert_within(entry);
        } else if self.far.is_empty() && self.near.len() < NEAR {
            self.near.push_back(entry);
        } else {
            self.far.push(entry);
        }
    }
    #[cold]
    fn insert_within(&mut self, entry: Entry) {
        if self.far.is_empty() || entry < self.far[0] {
            let place = self.near.partition_point(|other| *other < entry);
            if self.near.get(place) != Some(&entry) {
                self.near.insert(place, entry);
            }
            return;
        }
        let (mut from, mut to) = (0, self.far.len());
        while from < to {
            let middle = from.midpoint(to);
            if self.far[middle] < entry { from = middle + 1 } else { to = middle }
        }
        if self.far[from] == entry {
            return;
        }
        let mut moved = entry;
        for at in from..self.far.len() {
            std::mem::swap(&mut self.far[at], &mut moved);
        }
        self.far.push(moved);
    }
    /// Keeps these.
    pub(super) fn retain(&mut self, mut stays: impl FnMut(&Entry) -> bool) {
        self.near.retain(&mut stays);
        self.near.shrink_to(NEAR);
        self.far = self.far.iter().copied().filter(stays).collect();
        if self.near.len() < SEEN {
            self.far.move_first_piece(&mut self.near);
        }
    }
    /// A line that was long, and is empty, gives its memory back.
    pub(super) fn rest(&mut self) {
        if self.near.is_empty() && self.near.capacity() > 2 * NEAR {
            *self = Entries::default();
        }
    }
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.near.capacity() + self.far.capacity()
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn entries_are_those_of_a_set_in_its_order() {
        let mut random = 7_u64;
        for round in 0..40 {
            let (mut entries, mut set) = (Entries::default(), BTreeSet::new());
            let mut last = 0;
            for step in 0..6_000_u64 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let grows = if step % 3_000 < 2_000 { 12 } else { 2 };
                match random >> 60 {
                    15 if round % 2 == 1 => {
                        // At a place before, or once more.
                        let entry = ((random >> 20) % (last + 1), 0);
                        entries.insert(entry);
                        set.insert(entry);
                    }
                    14 if step % 50 == 0 => {
                        entries.retain(|entry| entry.0 % 3 != 0);
                        set.retain(|entry| entry.0 % 3 != 0);
                    }
                    what if what < grows => {
                        last += 1;
                        entries.insert((last, 0));
                        set.insert((last, 0));
                    }
                    _ => {
                        entries.pop_front();
                        set.pop_first();
                        entries.rest();
                    }
                }
                assert_eq!(entries.back(), set.last());
                let mut first = set.iter();
                (0..SEEN).for_each(|at| assert_eq!(entries.get(at), first.next()));
            }
            while let Some(first) = set.pop_first() {
                assert_eq!(entries.front(), Some(&first));
                entries.pop_front();
            }
            assert_eq!(entries.front(), None);
            entries.rest();
            assert!(entries.room() <= 2 * NEAR, "{}", entries.room());
        }
    }
}
