//! The table of jobs by number.
//!
//! Numbers are dense, so a number is a place: the table is a window of chunks, without hashing. A
//! chunk whose jobs are all forgotten is freed; one that holds a job stays, and costs 128 records.
//! The elements of an array have numbers, and no records until they begin: 8 bytes for 128 of them.

use super::spec::{Afters, OfDay, Retry, State, Stop, Time};
use myriad_base::pieces::{Array, Boxed, Rows};
use myriad_base::sys::prefetch::prefetch;
use std::collections::VecDeque;
use std::sync::Arc;

const CHUNK: u64 = 128;
/// No edge.
pub(super) const NONE: u32 = u32::MAX;

/// A pending job waits for these; for none: it stands in a line.
pub(super) const HELD: u8 = 1;
pub(super) const DEPENDS: u8 = 2;
pub(super) const TIME: u8 = 4;

/// A job, as the machine knows it.
#[derive(Debug)]
pub(super) struct Record<P> {
    pub state: State,
    pub waits: u8,
    /// Its demand, group and wall time.
    pub class: u32,
    pub priority: i32,
    /// Its place among equal ones: when it became ready first, made unique. 0: it was never ready.
    pub seq: u64,
    /// Jobs that depend on this one: a list in `Edges`.
    pub dependents: u32,
    /// Dependencies that are still open.
    pub open: u32,
    /// In which reservation it passed the reserved job.
    pub passed: u32,
    /// What the engine notes of its run.
    pub note: u32,
    /// The array of an element, or 0.
    pub array: u64,
    pub submitted: Time,
    pub started: Time,
    pub ended: Time,
    /// When its wall time is over; 0: it has none, or was told to stop.
    pub until: Time,
    pub payload: Option<P>,
    pub rare: Option<Boxed<Rare>>,
}

/// What few jobs have.
#[derive(Debug, Default)]
pub(super) struct Rare {
    pub name: Option<Arc<str>>,
    pub user: Option<Arc<str>>,
    /// Not before that; also the end of a pause between attempts.
    pub begin: Time,
    /// By then the clock is to be looked at: the job waits for this time of day.
    pub at: Option<OfDay>,
    pub retry: Retry,
    pub attempts: u32,
    pub after: Afters,
    pub any: bool,
    pub stopping: Option<Stop>,
    pub elements: Option<Box<Elements>>,
    pub report: Option<Box<Report>>,
}

/// What the engine knows of how a job ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct Report {
    /// Why it ended so: the panic, the error, the limit.
    pub text: Option<Arc<str>>,
    /// Of a command: the most memory that it had, in bytes, and the processor time that it took.
    pub peak_memory: u64,
    pub cpu_time: Time,
}

/// An array.
#[derive(Debug, Default)]
pub(super) struct Elements {
    pub len: u32,
    pub next: u32,
    pub at_once: u32,
    pub max_failures: u32,
    /// Begun, and not ended: they run, or wait for another attempt.
    pub alive: u32,
    pub ended: u32,
    pub failed: u32,
    /// Of those that failed: they never ran, because of the element that they wait for.
    pub skipped: u32,
    /// Of another array, whose elements these wait for.
    pub each_of: u64,
    /// Then these may begin.
    pub ready: VecDeque<u32>,
    /// Arrays whose elements wait for these.
    pub followers: Vec<u64>,
    /// Two bits for each element that has ended: done, or not.
    pub ends: Vec<u64>,
    /// No more begin: cancelled, or too many failures.
    pub closed: bool,
}

impl Elements {
    pub(super) fn set_end(&mut self, element: u32, done: bool) {
        let (word, shift) = (element as usize / 32, element % 32 * 2);
        if self.ends.len() <= word {
            self.ends.resize(word + 1, 0);
        }
        self.ends[word] |= (1 + u64::from(done)) << shift;
    }
    /// One has ended. Returns the arrays whose elements waited for that.
    pub(super) fn note_end(&mut self, element: u32, done: bool) -> Vec<u64> {
        self.set_end(element, done);
        self.ended += 1;
        self.failed += u32::from(!done);
        self.followers.clone()
    }
    /// `Some(done)` of one that has ended.
    pub(super) fn end_of(&self, element: u32) -> Option<bool> {
        let bits = self.ends.get(element as usize / 32).map_or(0, |word| word >> (element % 32 * 2) & 3);
        (bits != 0).then_some(bits == 2)
    }
    /// May another element begin now?
    pub(super) fn can_begin(&self) -> bool {
        let is_there = if self.each_of == 0 { self.next < self.len } else { !self.ready.is_empty() };
        !self.closed && is_there && self.alive < self.at_once
    }
    /// Takes the next one.
    pub(super) fn take(&mut self) -> Option<u32> {
        if self.each_of != 0 {
            return self.ready.pop_front();
        }
        (self.next < self.len).then(|| {
            self.next += 1;
            self.next - 1
        })
    }
}

impl<P> Record<P> {
    pub(super) fn rare(&self) -> Option<&Rare> {
        self.rare.as_deref()
    }
    pub(super) fn rare_mut(&mut self) -> &mut Rare {
        // (Its first attempt was not counted.)
        let attempts = u32::from(self.started > 0);
        self.rare.get_or_insert_with(|| Boxed::new(Rare { attempts, ..Rare::default() }))
    }
    pub(super) fn elements(&mut self) -> Option<&mut Elements> {
        self.rare.as_deref_mut()?.elements.as_deref_mut()
    }
    /// Of an element: its index.
    pub(super) fn element(&self, id: u64) -> Option<u32> {
        (self.array != 0).then(|| (id - self.array - 1) as u32)
    }
    pub(super) fn stopping(&self) -> Option<Stop> {
        self.rare.as_deref()?.stopping
    }
}

#[derive(Debug)]
struct Chunk<P> {
    live: u32,
    jobs: Array<Option<Record<P>>>,
}

impl<P> Chunk<P> {
    fn new() -> Chunk<P> {
        Chunk { live: 0, jobs: Array::new(CHUNK as usize, || None) }
    }
}

#[derive(Debug)]
pub(super) struct Table<P> {
    /// The number of the first chunk.
    first: u64,
    chunks: VecDeque<Option<Chunk<P>>>,
    /// The next job's number.
    next: u64,
    /// One that is empty, so that a queue that goes on with a few jobs allocates nothing.
    spare: Option<Chunk<P>>,
}

impl<P> Table<P> {
    pub(super) fn new() -> Table<P> {
        Table { first: 0, chunks: VecDeque::new(), next: 1, spare: None }
    }
    pub(super) fn next(&self) -> u64 {
        self.next
    }
    /// Gives out this many numbers.
    pub(super) fn reserve(&mut self, numbers: u64) -> u64 {
        self.next += numbers;
        self.next - numbers
    }
    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<&Record<P>> {
        self.place(id)?.as_ref()
    }
    /// The record of this job is to be looked at soon.
    #[inline]
    pub(super) fn prefetch(&self, id: u64) {
        self.place(id).into_iter().for_each(prefetch);
    }
    #[inline]
    fn place(&self, id: u64) -> Option<&Option<Record<P>>> {
        let at = (id / CHUNK).checked_sub(self.first)?;
        Some(&self.chunks.get(at as usize)?.as_ref()?.jobs[(id % CHUNK) as usize])
    }
    #[inline]
    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut Record<P>> {
        let at = (id / CHUNK).checked_sub(self.first)?;
        self.chunks.get_mut(at as usize)?.as_mut()?.jobs[(id % CHUNK) as usize].as_mut()
    }
    /// The record of a job that is there by the machine's own rules.
    #[inline]
    #[track_caller]
    pub(super) fn at(&mut self, id: u64) -> &mut Record<P> {
        self.get_mut(id).expect("a job that has not ended has a record")
    }
    #[inline]
    pub(super) fn insert(&mut self, id: u64, record: Record<P>) {
        let at = (id / CHUNK - self.first) as usize;
        if self.chunks.len() <= at {
            self.chunks.resize_with(at + 1, || None);
        }
        let spare = &mut self.spare;
        let chunk = self.chunks[at].get_or_insert_with(|| spare.take().unwrap_or_else(Chunk::new));
        chunk.live += 1;
        chunk.jobs[(id % CHUNK) as usize] = Some(record);
    }
    /// The record of a job is dropped. Returns its payload, if it has one yet.
    #[inline]
    pub(super) fn remove(&mut self, id: u64) -> Option<P> {
        let at = (id / CHUNK).checked_sub(self.first)?;
        let chunk = self.chunks.get_mut(at as usize)?.as_mut()?;
        let place = &mut chunk.jobs[(id % CHUNK) as usize];
        let payload = place.as_mut()?.payload.take();
        *place = None;
        chunk.live -= 1;
        if chunk.live == 0 {
            self.remove_chunk(at as usize);
        }
        payload
    }
    #[cold]
    fn remove_chunk(&mut self, at: usize) {
        self.spare = self.chunks[at].take();
        while self.chunks.front().is_some_and(Option::is_none) {
            self.chunks.pop_front();
            self.first += 1;
        }
        if self.chunks.is_empty() {
            self.first = self.next / CHUNK;
        }
        // (A window that was long gives its memory back.)
        if self.chunks.capacity() > 4 * self.chunks.len() + 64 {
            self.chunks.shrink_to(2 * self.chunks.len());
        }
    }
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        let chunks = self.chunks.iter().flatten().chain(&self.spare).count();
        self.chunks.capacity() + chunks * CHUNK as usize
    }
    /// Those with numbers from `from` to `to`.
    pub(super) fn between(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &Record<P>)> {
        let chunks = (from / CHUNK..=to / CHUNK)
            .filter_map(|at| Some((self.chunks.get(at.checked_sub(self.first)? as usize)?.as_ref()?, at * CHUNK)));
        let all = chunks.flat_map(|(chunk, first)| chunk.jobs.iter().zip(first..));
        all.filter_map(|(record, id)| Some((id, record.as_ref()?))).filter(move |(id, _)| (from..=to).contains(id))
    }
    /// All that there are, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Record<P>)> {
        let numbered = self.chunks.iter().zip(self.first..);
        numbered.filter_map(|(chunk, at)| Some((chunk.as_ref()?, at * CHUNK))).flat_map(|(chunk, from)| {
            chunk.jobs.iter().zip(from..).filter_map(|(record, id)| Some((id, record.as_ref()?)))
        })
    }
}

/// The lists of jobs that depend on others, in one place.
#[derive(Debug)]
pub(super) struct Edges {
    edges: Rows<Edge>,
    free: u32,
    /// How many are not free.
    live: u32,
}

/// This job waits for the one in whose list this is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub job: u64,
    pub when: super::When,
    pub next: u32,
}

impl Edges {
    pub(super) fn new() -> Edges {
        Edges { edges: Rows::new(), free: NONE, live: 0 }
    }
    pub(super) fn add(&mut self, edge: Edge) -> u32 {
        self.live += 1;
        if self.free == NONE {
            self.edges.push(edge);
            return self.edges.len() as u32 - 1;
        }
        let at = self.free;
        self.free = std::mem::replace(&mut self.edges[at as usize], edge).next;
        at
    }
    pub(super) fn get(&self, at: u32) -> Edge {
        self.edges[at as usize]
    }
    /// `None` at the end of a list.
    pub(super) fn known(&self, at: u32) -> Option<Edge> {
        (at != NONE).then(|| self.get(at))
    }
    pub(super) fn remove(&mut self, at: u32) {
        self.edges[at as usize].next = self.free;
        self.free = at;
        self.live -= 1;
        // (Many that are gone give their memory back; a few are for the next jobs.)
        if self.live == 0 && self.edges.capacity() > 1024 {
            *self = Edges::new();
        }
    }
    #[cfg(test)]
    pub(super) fn room(&self) -> usize {
        self.edges.capacity()
    }
    /// The list without the edges of this job.
    pub(super) fn without(&mut self, list: u32, job: u64) -> u32 {
        let (mut at, mut kept) = (list, NONE);
        while at != NONE {
            let edge = self.get(at);
            match edge.job == job {
                true => self.remove(at),
                false => self.keep(at, &mut kept),
            }
            at = edge.next;
        }
        self.reverse(kept)
    }
    /// Turns a list round.
    pub(super) fn reverse(&mut self, mut at: u32) -> u32 {
        let mut turned = NONE;
        while at != NONE {
            let next = self.get(at).next;
            self.keep(at, &mut turned);
            at = next;
        }
        turned
    }
    /// Puts an edge at the front of a list.
    pub(super) fn keep(&mut self, at: u32, list: &mut u32) {
        self.edges[at as usize].next = std::mem::replace(list, at);
    }
}
