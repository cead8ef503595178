//! The depth-first policy: heaps by serial order ([`super::label`]), two for each worker.
//!
//! A task goes into any heap; a worker looks at the first ones of any two, and takes the better. So
//! workers seldom meet at a lock, and the order is off by about the number of heaps (Rihani,
//! Sanders and Dementiev, "MultiQueues", SPAA 2015). With one worker there is one heap, and nothing
//! is off.
//!
//! What each queue holds, in the order in which it is taken: *woken* futures, and what goes on
//! elsewhere: they have begun, so they come before what has not; *fresh* tasks, by rank; *last*,
//! those that let all others go first.
//!
//! **Fairness.** In each look (every 61st turn of a worker) it is the turn of the fresh, or else of
//! the last, before the woken; so neither futures that wake each other nor ready closures hold up
//! the rest. And a task that spawns for ever holds up its later siblings, as it would in the serial
//! program; that must not be, so in every 1,024th look the *oldest* of the fresh is taken, whatever
//! its rank, if it was here at the last such look already. (Seldom: each of these opens a subtree
//! before its time.)

use super::claim_list::{self, ClaimList};
use super::heap::{Heap, HeapEntry};
use super::label::{self, Label, Labels};
use super::locked::{EMPTY, LockedQueue, Ranked};
use super::{Arrival, PolicyQueues};
use crate::queue::deque::Line;
use crate::record::header::Header;
use crate::record::task::{Runnable, Unstarted};
use myriad_base::sys::choice::Dice;
use std::sync::Arc;

/// Heaps for each worker.
const HEAPS: usize = 2;
/// In every so manieth look the oldest.
const SELDOM: u32 = 1024;
/// So many dice; a worker has the one of its number.
const DICE: usize = if cfg!(loom) { 2 } else { 64 };

#[derive(Debug)]
struct HeapQueue {
    woken: ClaimList,
    fresh: ClaimList,
    heap: Heap,
    last: ClaimList,
    labels: Arc<Labels>,
    /// Of the last entry.
    number: u64,
    /// The same, when it was last the turn of the oldest.
    seen: u64,
}

impl Ranked for HeapQueue {
    fn first(&self) -> u64 {
        match self.heap.first() {
            _ if self.woken.len() > 0 => 0,
            Some(entry) => entry.rank,
            None if self.last.len() > 0 => EMPTY - 1,
            None => EMPTY,
        }
    }
}

/// An entry's number from that of its arrival, and the other way round.
fn arrival(rank: u64, number: u64) -> u64 {
    if label::is_deepest(rank) { u64::MAX - number } else { number }
}

/// Which part of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Woken,
    Fresh,
    Oldest,
    Last,
}

impl HeapQueue {
    fn new(number: usize, labels: Arc<Labels>) -> HeapQueue {
        let [woken, fresh, last] = [(); 3].map(|()| ClaimList::new(number));
        HeapQueue { woken, fresh, heap: Heap::default(), last, labels, number: 0, seen: 0 }
    }

    fn put_fresh(&mut self, task: Runnable, rank: u64) {
        self.number += 1;
        // Of equals the first one; below the last generation that is counted, the newest: else its
        // level would be begun as a whole.
        let number = arrival(rank, self.number);
        let claimable = !task.is_future();
        let at = self.fresh.put(task, false, claimable);
        self.heap.push(&mut self.fresh, HeapEntry { rank, number, at });
    }

    /// Takes a fresh one, and leaves its label.
    fn take_fresh(&mut self, at: u32) -> Option<Runnable> {
        let index = self.fresh.note(at) as usize;
        let entry = self.heap.remove(&mut self.fresh, index);
        debug_assert_eq!(entry.at, at);
        let task = self.fresh.take(at)?;
        self.labels.set(task.address(), Label::of(entry.rank));
        Some(task)
    }

    fn take(&mut self, part: Part) -> Option<Runnable> {
        match part {
            Part::Woken => self.woken.take_oldest(),
            Part::Fresh => self.heap.first().map(|entry| entry.at).and_then(|at| self.take_fresh(at)),
            Part::Oldest => {
                let seen = std::mem::replace(&mut self.seen, self.number);
                let is_old = |at: &u32| {
                    let entry = self.heap.entry(self.fresh.note(*at) as usize);
                    arrival(entry.rank, entry.number) <= seen
                };
                self.fresh.oldest().filter(is_old).and_then(|at| self.take_fresh(at))
            }
            Part::Last => self.last.take_oldest(),
        }
    }

    fn take_first(&mut self) -> Option<Runnable> {
        [Part::Woken, Part::Fresh, Part::Last].into_iter().find_map(|part| self.take(part))
    }
}

/// See the module's header.
#[derive(Debug)]
pub(super) struct MultiQueue {
    queues: Box<[LockedQueue<HeapQueue>]>,
    dice: Box<[Line<Dice>]>,
    labels: Arc<Labels>,
}

impl MultiQueue {
    pub(super) fn new(workers: usize) -> MultiQueue {
        let heaps = if workers == 1 { 1 } else { HEAPS * workers };
        let dice = (1..=DICE as u64).map(|i| Line(Dice::new(i.wrapping_mul(0x9E37_79B9_7F4A_7C15))));
        let labels = Arc::new(Labels::new());
        let queues = (0..heaps).map(|i| LockedQueue::new(HeapQueue::new(i, labels.clone())));
        MultiQueue { queues: queues.collect(), dice: dice.collect(), labels }
    }

    /// Any queue.
    fn roll(&self, worker: Option<usize>) -> usize {
        if self.queues.len() == 1 {
            return 0;
        }
        self.dice[worker.unwrap_or(DICE - 1) % DICE].below(self.queues.len())
    }

    /// The first that `take` gets out of the queues, beginning with any.
    fn search(&self, worker: usize, take: impl Fn(&mut HeapQueue) -> Option<Runnable>) -> Option<Runnable> {
        let begin = self.roll(Some(worker));
        let (before, after) = self.queues.split_at(begin);
        after.iter().chain(before).filter(|queue| !queue.is_empty()).find_map(|queue| queue.with(&take))
    }

    /// The rank of what this task spawns next.
    fn rank_below(&self, spawner: *const Header) -> u64 {
        let Some(label) = self.labels.get(spawner) else { return label::OUTSIDE };
        let (rank, next) = label.child();
        self.labels.set(spawner, next);
        rank
    }

    /// The better of the first ones of any two queues.
    fn take_of_two(&self, worker: usize) -> Option<Runnable> {
        let n = self.queues.len();
        let a = self.roll(Some(worker));
        // Another one.
        let b = if n > 1 { (a + 1 + self.roll(Some(worker)) % (n - 1)) % n } else { a };
        let (a, b) = (&self.queues[a], &self.queues[b]);
        let better = if b.first() < a.first() { b } else { a };
        if better.is_empty() { None } else { better.with(HeapQueue::take_first) }
    }
}

impl PolicyQueues for MultiQueue {
    fn put(&self, worker: Option<usize>, task: Runnable, arrival: Arrival) -> Option<usize> {
        let rank = match arrival {
            Arrival::Spawned(spawner) => self.rank_below(spawner),
            _ => label::OUTSIDE,
        };
        self.queues[self.roll(worker)].with(|queue| match arrival {
            Arrival::Spawned(_) | Arrival::Outside => queue.put_fresh(task, rank),
            Arrival::Woken => _ = queue.woken.put(task, false, false),
            // A closure that nobody claims, and that runs as somebody else.
            Arrival::Next => _ = queue.woken.put(task, true, false),
            Arrival::Last => _ = queue.last.put(task, false, false),
        });
        None
    }

    fn take(&self, worker: usize, look: Option<u32>) -> Option<Runnable> {
        let parts: &[Part] = match look {
            None => &[],
            Some(look) if look.is_multiple_of(SELDOM) => &[Part::Oldest, Part::Fresh, Part::Last],
            Some(look) if look.is_multiple_of(2) => &[Part::Fresh, Part::Last],
            Some(_) => &[Part::Last, Part::Fresh],
        };
        for &part in parts {
            let task = self.search(worker, |queue| queue.take(part));
            if task.is_some() {
                return task;
            }
        }
        for _ in 0..2 {
            let task = self.take_of_two(worker);
            if task.is_some() {
                return task;
            }
        }
        self.search(worker, HeapQueue::take_first)
    }

    fn claim(&self, task: &Header) -> Option<Unstarted> {
        let queue = claim_list::queue_of(task).and_then(|number| self.queues.get(number))?;
        queue.with(|queue| queue.fresh.find(task).and_then(|at| queue.take_fresh(at)))?.into_unstarted().ok()
    }

    fn take_ours(&self, worker: usize, ours: &dyn Fn(&Header) -> bool) -> Option<Runnable> {
        self.search(worker, |queue| match queue.heap.first() {
            Some(first) if queue.fresh.task(first.at).is_some_and(ours) => queue.take_fresh(first.at),
            _ => None,
        })
    }

    fn is_empty(&self) -> bool {
        self.queues.iter().all(LockedQueue::is_empty)
    }

    fn len(&self) -> usize {
        let len = |queue: &mut HeapQueue| queue.woken.len() + queue.fresh.len() + queue.last.len();
        self.queues.iter().map(|queue| queue.with(len)).sum()
    }
}
