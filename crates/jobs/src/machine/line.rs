//! Lines: jobs that are ready to start, and wait for resources.
//!
//! Jobs with the same demand, group and wall time are a *class*: of them only the first one can be
//! the next to start, so the machine looks at classes. A class has one first-in-first-out line for
//! each priority, and a heap of the first ones of its lines.
//!
//! **Order.** With an ageing time `T` a job of priority `p` that became ready at `t` counts as
//! priority `p + (now - t) / T`. Of two jobs the one with the smaller `t - p * T` is first, at any
//! `now`: so the order of two jobs never changes, and nothing is sorted anew as time goes on.
//! Without ageing the order is priority, then time. (Rejected: moving jobs to the next line by a
//! timer, which touches all waiting jobs.)
//!
//! **Jobs that leave out of turn** (cancelled, held, changed) stay in their line, and are passed
//! over when they come to its front: an entry counts if the job stands in a line with that number.

use super::State;
use super::entries::{Entries, Entry};
use super::spec::{Demand, Time};
use super::table::{Elements, Record, Table};
use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// The order of jobs: the smaller one is first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Rank {
    pub level: i64,
    pub seq: u64,
    pub id: u64,
}

impl Rank {
    pub(super) fn new(priority: i32, (seq, id): Entry, ageing: Option<Time>) -> Rank {
        let level = match ageing {
            Some(step) => (seq as i64).saturating_sub(i64::from(priority).saturating_mul(step as i64)),
            None => -i64::from(priority),
        };
        Rank { level, seq, id }
    }
    /// The priority that this counts as at a time.
    pub(super) fn effective(self, now: Time, ageing: Option<Time>) -> i64 {
        match ageing {
            Some(step) => (now as i64).saturating_sub(self.level).div_euclid(step as i64),
            None => -self.level,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ClassKey {
    pub group: u32,
    pub wall: Option<Time>,
    pub demand: Demand,
}

/// In which set of its group a class stands, and with which rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    Nowhere,
    /// It may fit.
    Ready(Rank),
    /// It lacks this resource.
    Lacking(Rank, super::spec::Resource),
    /// It wants more of this resource than there is.
    Hopeless(Rank, super::spec::Resource),
}

impl Placed {
    /// That of its first job.
    pub(super) fn rank(self) -> Option<Rank> {
        match self {
            Placed::Nowhere => None,
            Placed::Ready(rank) | Placed::Lacking(rank, _) | Placed::Hopeless(rank, _) => Some(rank),
        }
    }
}

#[derive(Debug)]
pub(super) struct Class {
    pub key: ClassKey,
    /// Its own place in the table.
    at: u32,
    /// Is it one? (Or a place for another.)
    in_use: bool,
    /// Records that name it.
    pub jobs: u64,
    pub placed: Placed,
    lines: Vec<Line>,
    /// Where the line of a priority is, by priority.
    places: Vec<(i32, u32)>,
    /// The levels of the first ones, with the priorities and the places of their lines. An entry
    /// counts if its line says so. (Of two lines with the same level the one of lower priority is
    /// first: its job became ready earlier.)
    heads: BinaryHeap<Reverse<(i64, i32, u32)>>,
}

#[derive(Debug)]
struct Line {
    priority: i32,
    entries: Entries,
    /// The level of this line's entry in `heads`. (Without ageing it stays the same, whoever is
    /// first in the line.)
    listed: Option<i64>,
}

impl Class {
    fn new(key: ClassKey, at: u32) -> Class {
        Class {
            key,
            at,
            in_use: true,
            jobs: 0,
            placed: Placed::Nowhere,
            lines: Vec::new(),
            places: Vec::new(),
            heads: BinaryHeap::new(),
        }
    }

    /// Puts a job into its line: mostly at the end; one that had a place before goes there. Returns
    /// its rank.
    pub(super) fn push(&mut self, priority: i32, entry: Entry, ageing: Option<Time>) -> Rank {
        let at = match self.places.binary_search_by_key(&priority, |place| place.0) {
            Ok(at) => self.places[at].1,
            Err(at) => {
                let place = self.lines.len() as u32;
                self.lines.push(Line { priority, entries: Entries::default(), listed: None });
                self.places.insert(at, (priority, place));
                place
            }
        };
        let line = &mut self.lines[at as usize];
        // (Or it is there still, and had only left in name.)
        line.entries.insert(entry);
        let rank = Rank::new(priority, entry, ageing);
        if line.listed.is_none_or(|listed| rank.level < listed) {
            line.listed = Some(rank.level);
            self.heads.push(Reverse((rank.level, priority, at)));
        }
        rank
    }

    /// The first job of the class.
    #[inline]
    pub(super) fn first<P>(&mut self, table: &Table<P>, ageing: Option<Time>) -> Option<Rank> {
        loop {
            let &Reverse((level, priority, at)) = self.heads.peek()?;
            let line = &mut self.lines[at as usize];
            if line.listed == Some(level) {
                while let Some(&entry) = line.entries.front() {
                    if stands(table, self.at, priority, entry) {
                        // (That one is looked at when the one before it starts.)
                        line.entries.get(2).into_iter().for_each(|third| table.prefetch(third.1));
                        let rank = Rank::new(priority, entry, ageing);
                        if rank.level == level {
                            return Some(rank);
                        }
                        break;
                    }
                    line.entries.pop_front();
                }
            }
            self.see_to_head(ageing);
        }
    }

    /// The first entry of `heads` does not count, or says too little.
    fn see_to_head(&mut self, ageing: Option<Time>) {
        let Some(mut top) = self.heads.peek_mut() else { return };
        let Reverse((level, priority, at)) = *top;
        let line = &mut self.lines[at as usize];
        if line.listed != Some(level) {
            PeekMut::pop(top);
            return;
        }
        line.listed = line.entries.front().map(|entry| Rank::new(priority, *entry, ageing).level);
        match line.listed {
            Some(level) => *top = Reverse((level, priority, at)),
            None => {
                PeekMut::pop(top);
                line.entries.rest();
            }
        }
    }

    /// The job behind the first one, if it is of the same priority.
    #[inline]
    pub(super) fn second(&self) -> Option<u64> {
        let Reverse((_, _, at)) = self.heads.peek()?;
        self.lines[*at as usize].entries.get(1).map(|entry| entry.1)
    }

    /// Takes out the job that the class is placed by. The next call of `first` sees to the heap.
    #[inline]
    pub(super) fn take_first(&mut self, placed: Rank) {
        let Some(Reverse((_, _, at))) = self.heads.peek() else { return };
        let entries = &mut self.lines[*at as usize].entries;
        let is_first = entries.front() == Some(&(placed.seq, placed.id));
        debug_assert!(is_first, "the heap is in order since the class was placed");
        // (Else a job would be lost; an entry of a job that has left is passed over.)
        if is_first {
            entries.pop_front();
        }
    }

    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.heads.capacity() + self.lines.iter().map(|line| 1 + line.entries.room()).sum::<usize>()
    }
    /// Drops entries of jobs that have left, once there may be many.
    pub(super) fn tidy<P>(&mut self, table: &Table<P>) {
        for line in &mut self.lines {
            let priority = line.priority;
            let first = line.entries.front().copied();
            // (The first one stays: its level is listed.)
            line.entries.retain(|entry| Some(*entry) == first || stands(table, self.at, priority, *entry));
        }
    }
}

/// Does this entry count?
#[inline]
fn stands<P>(table: &Table<P>, class: u32, priority: i32, (seq, id): Entry) -> bool {
    table.get(id).is_some_and(|job| job.seq == seq && job.priority == priority && is_in_line(job, class))
}

/// Is the job that a class is placed by still its first one? A job that comes before that one
/// places the class anew; so this only looks whether that one has left.
pub(super) fn is_first<P>(table: &Table<P>, class: u32, placed: Rank, ageing: Option<Time>) -> bool {
    let rank = |job: &Record<P>| Rank::new(job.priority, (job.seq, placed.id), ageing);
    table.get(placed.id).is_some_and(|job| rank(job) == placed && is_in_line(job, class))
}

#[inline]
pub(super) fn is_in_line<P>(job: &Record<P>, class: u32) -> bool {
    let array_goes_on = || job.rare().and_then(|rare| rare.elements.as_deref()).is_none_or(Elements::can_begin);
    job.class == class && job.waits == 0 && job.state == State::Pending && array_goes_on()
}

/// Classes, by their ranks. The first one stands apart: mostly it is the one that moves, and stays
/// the first.
#[derive(Debug, Default)]
pub(super) struct Standing {
    first: Option<Standee>,
    /// All behind the first.
    rest: BTreeSet<Standee>,
}

type Standee = (Rank, u32);

impl Standing {
    #[inline]
    pub(super) fn first(&self) -> Option<&Standee> {
        self.first.as_ref()
    }
    /// The one that stands here, if no other does.
    #[inline]
    pub(super) fn only(&self) -> Option<Standee> {
        self.first.filter(|_| self.rest.is_empty())
    }
    #[inline]
    fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }
    fn iter(&self) -> impl Iterator<Item = Standee> {
        self.first.into_iter().chain(self.rest.iter().copied())
    }
    pub(super) fn after(&self, seen: Standee) -> Option<&Standee> {
        self.first().filter(|first| **first > seen).or_else(|| self.rest.range((Excluded(seen), Unbounded)).next())
    }
    #[inline]
    pub(super) fn insert(&mut self, new: Standee) {
        match self.first.filter(|first| *first < new) {
            Some(_) => _ = self.rest.insert(new),
            None => self.rest.extend(self.first.replace(new)),
        }
    }
    pub(super) fn remove(&mut self, old: Standee) {
        match self.first {
            Some(first) if first == old => self.first = self.rest.pop_first(),
            _ => _ = self.rest.remove(&old),
        }
    }
    #[inline]
    pub(super) fn replace(&mut self, old: Standee, new: Standee) {
        if self.first == Some(old) && self.rest.first().is_none_or(|second| new < *second) {
            self.first = Some(new);
        } else {
            self.remove(old);
            self.insert(new);
        }
    }
}

/// Jobs with a limit of their own, and by turns with other groups.
#[derive(Debug)]
pub(super) struct Group {
    pub name: Arc<str>,
    /// So many run at a time at most.
    pub limit: u64,
    pub running: u64,
    /// Places that are kept for suspended jobs.
    pub kept: u64,
    /// The machine's count of starts when one of its jobs started last.
    pub served: u64,
    /// Classes that may fit, and those that do not.
    pub ready: Standing,
    pub lacking: Standing,
}

impl Group {
    pub(super) fn new(name: Arc<str>, limit: u64) -> Group {
        Group { name, limit, running: 0, kept: 0, served: 0, ready: Standing::default(), lacking: Standing::default() }
    }
    /// Is there no place for another one?
    pub(super) fn is_full(&self) -> bool {
        self.running + self.kept >= self.limit
    }
    /// Both classes that stand, in order, if these are two.
    #[inline]
    pub(super) fn pair(&self) -> Option<[Standee; 2]> {
        if self.ready.len() + self.lacking.len() != 2 {
            return None;
        }
        let mut all = self.ready.iter().chain(self.lacking.iter());
        let (one, other) = (all.next()?, all.next()?);
        Some([one.min(other), one.max(other)])
    }
}

/// The classes in use.
#[derive(Debug)]
pub(super) struct Classes {
    classes: Vec<Class>,
    by_key: HashMap<ClassKey, u32>,
    last: u32,
    /// Places in `classes` that nobody uses.
    free: Vec<u32>,
    /// Classes without jobs: kept, as the next job may be of one.
    unused: usize,
}

impl Classes {
    pub(super) fn new() -> Classes {
        Classes { classes: Vec::new(), by_key: HashMap::new(), last: 0, free: Vec::new(), unused: 0 }
    }
    /// The class for one more job.
    pub(super) fn of(&mut self, key: ClassKey) -> u32 {
        if self.classes.get(self.last as usize).is_none_or(|class| !class.in_use || class.key != key) {
            self.last = self.find(key);
        }
        let class = &mut self.classes[self.last as usize];
        class.jobs += 1;
        if class.jobs == 1 {
            self.unused -= 1;
        }
        self.last
    }
    fn find(&mut self, key: ClassKey) -> u32 {
        if let Some(&at) = self.by_key.get(&key) {
            return at;
        }
        self.unused += 1;
        let at = match self.free.pop() {
            Some(at) => {
                self.classes[at as usize] = Class::new(key.clone(), at);
                at
            }
            None => {
                let at = self.classes.len() as u32;
                self.classes.push(Class::new(key.clone(), at));
                at
            }
        };
        self.by_key.insert(key, at);
        at
    }
    /// A job of this class is gone. True: it was the last one, so the class leaves its group's
    /// sets.
    pub(super) fn leave(&mut self, at: u32) -> bool {
        let class = &mut self.classes[at as usize];
        class.jobs -= 1;
        if class.jobs > 0 {
            return false;
        }
        self.unused += 1;
        true
    }
    /// Frees classes that nobody uses, once they are many beside those in use, at all of which this
    /// looks. They stand in no set.
    pub(super) fn sweep(&mut self) {
        if self.unused > 64 + self.by_key.len() / 2 {
            self.unused = 0;
            let (classes, free) = (&mut self.classes, &mut self.free);
            self.by_key.retain(|_, &mut at| {
                let class = &mut classes[at as usize];
                if class.jobs == 0 {
                    class.in_use = false;
                    (class.lines, class.places, class.heads) = (Vec::new(), Vec::new(), BinaryHeap::new());
                    free.push(at);
                }
                class.in_use
            });
        }
    }
    pub(super) fn iter(&mut self) -> impl Iterator<Item = &mut Class> {
        self.classes.iter_mut().filter(|class| class.in_use)
    }
    #[inline]
    pub(super) fn at(&mut self, at: u32) -> &mut Class {
        &mut self.classes[at as usize]
    }
    #[inline]
    pub(super) fn get(&self, at: u32) -> &Class {
        &self.classes[at as usize]
    }
}
