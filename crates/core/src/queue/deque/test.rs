//! What the models of loom are too small for: rings that wrap and grow, tombstones by the dozen,
//! steals of many tasks, long lives of records. One thread against a simple list; then many
//! threads, counting.

use super::fairness::PORTION;
use super::*;
use crate::queue::records::{Random, TestRecord, pointer, records, runnable, taken, task_ref, unstarted};
use crate::record::header::TaskFlags;
use crate::record::position::UNCLAIMED;
use myriad_base::sys::atomic::AtomicBool;
use std::collections::VecDeque;

/// A deque, what it should hold, oldest first, and the records that are free.
struct Both<'a> {
    deque: Deque,
    list: VecDeque<*mut Header>,
    free: Vec<&'a TestRecord>,
}

impl<'a> Both<'a> {
    fn new(records: &'a [TestRecord]) -> Both<'a> {
        Both { deque: Deque::new(Fence::new(0), 2), list: VecDeque::new(), free: records.iter().collect() }
    }

    fn owner(&self) -> OwnDeque<'_> {
        // SAFETY: this thread is the owner.
        unsafe { self.deque.owner() }
    }

    fn taken(&mut self, expected: Option<*mut Header>, task: *mut Header) {
        assert_eq!(task, expected.unwrap_or(null_mut()));
        if !task.is_null() {
            // SAFETY: one of the records, which outlive all this.
            self.free.push(unsafe { &*task.cast() });
        }
    }

    fn push(&mut self, random: &mut Random) {
        if self.free.is_empty() {
            return;
        }
        let record = self.free.swap_remove(random.below(self.free.len()));
        record.flags().store(0, Relaxed);
        match random.below(8) {
            0 => {
                record.idx().store(UNCLAIMED, Relaxed);
                self.owner().push_oldest(runnable(record));
                self.list.push_front(pointer(record));
                return;
            }
            1 => {
                record.idx().store(UNCLAIMED, Relaxed);
                self.owner().push_unclaimed(runnable(record));
            }
            2 | 3 if self.owner().is_plain() => _ = self.owner().push_plain(unstarted(record)),
            _ => _ = self.owner().push(unstarted(record)),
        }
        self.list.push_back(pointer(record));
    }

    fn pop(&mut self) {
        let expected = self.list.pop_back();
        let task = taken(self.owner().pop());
        self.taken(expected, task);
    }

    fn pop_oldest(&mut self) {
        let expected = self.list.pop_front();
        let task = taken(self.owner().pop_oldest());
        self.taken(expected, task);
    }

    fn pop_between(&mut self) {
        let d = self.owner();
        let (head, top) = (d.head.load(Relaxed), d.top.load(Relaxed));
        let (from, end) = if head < top { d.half().next_range(head, top) } else { (0, 0) };
        let places = (from..end.min(from + PORTION).min(top.wrapping_sub(1))).map(|i| d.slot(i).load(Relaxed));
        let expected = places.filter(|task| !task.is_null()).min_by_key(|&t| self.list.iter().position(|&l| l == t));
        let task = taken(d.pop_between());
        self.list.retain(|&t| t != task);
        self.taken(expected, task);
    }

    /// Any record: in the deque or not, claimable or not.
    fn claim(&mut self, record: &'a TestRecord, nested: bool) {
        let place = self.list.iter().position(|&t| t == pointer(record));
        let claimable = place.filter(|_| record.idx().load(Relaxed) != UNCLAIMED);
        let plain = if nested { self.owner().claim_plain(task_ref(record)) } else { None };
        let claimed = taken(plain.or_else(|| self.owner().claim(task_ref(record))));
        assert_eq!(claimed, claimable.map_or(null_mut(), |_| pointer(record)));
        if let Some(place) = claimable {
            let task = self.list.remove(place);
            self.taken(task, pointer(record));
        }
    }

    fn steal(&mut self, room: usize) {
        let d = self.owner();
        let (head, split) = (d.head.load(Relaxed), d.split.load(Relaxed));
        let public = (head..split).filter(|&i| !d.slot(i).load(Relaxed).is_null()).count();
        let mut room: Vec<_> = (0..room).map(|_| None).collect();
        let n = d.steal(&mut room);
        assert_eq!(n, public.min(room.len()).min((split - head).div_ceil(2)));
        for task in room.into_iter().take(n) {
            let oldest = self.list.pop_front();
            self.taken(oldest, taken(task));
        }
    }

    /// Takes the oldest, or nothing while there are public tasks.
    fn steal_forced(&mut self) {
        let public = self.deque.head.load(Relaxed) < self.deque.split.load(Relaxed);
        let expected = if public { None } else { self.list.pop_front() };
        let task = self.deque.steal_forced();
        assert!(task.as_ref().is_none_or(|task| task.header().has_flags(TaskFlags::STOLEN)));
        self.taken(expected, taken(task));
    }

    fn publish(&mut self) {
        let (top, split) = (self.deque.top.load(Relaxed), self.deque.split.load(Relaxed));
        assert!(self.owner().publish(), "nobody has the lock");
        assert_eq!(self.deque.split.load(Relaxed), split + if top > split + 1 { (top - split) / 2 } else { 0 });
    }

    fn publish_lone(&mut self) {
        let (top, split) = (self.deque.top.load(Relaxed), self.deque.split.load(Relaxed));
        assert!(self.owner().publish_lone(), "nobody has the lock");
        assert_eq!(self.deque.split.load(Relaxed), split.max(split + top.saturating_sub(split).div_ceil(2)));
    }

    fn check(&self) {
        let d = self.owner();
        let (head, split, top) = (d.head.load(Relaxed), d.split.load(Relaxed), d.top.load(Relaxed));
        assert!(head <= split && split <= top && top - head <= d.capacity(), "{head:#x} {split:#x} {top:#x}");
        assert_eq!(d.is_busy(), !self.list.is_empty());
        let held = (head..top).map(|i| d.slot(i).load(Relaxed)).filter(|t| !t.is_null());
        assert!(held.eq(self.list.iter().copied()), "another order than it should be");
    }
}

/// What [`publish_one`](crate::api::split::publish_one) asks before it takes the lock, and what it
/// brings about.
#[test]
fn a_task_is_public_until_it_is_stolen() {
    let records = records(2);
    let deque = Deque::new(Fence::new(0), 2);
    // SAFETY: this thread is the owner.
    let owner = unsafe { deque.owner() };
    owner.push(unstarted(&records[0]));
    assert!(!deque.has_public() && deque.steal(&mut [None, None]) == 0, "a lone task is held back");
    assert!(owner.publish_lone() && deque.has_public());
    owner.push(unstarted(&records[1]));
    assert!(deque.has_public());
    let mut room = [None, None];
    assert_eq!((deque.steal(&mut room), taken(room[0].take())), (1, pointer(&records[0])));
    assert!(!deque.has_public(), "the other one is private");
    assert!(owner.claim(task_ref(&records[1])).is_some() && !deque.has_public());
}

/// A search that goes on where the last one stopped comes to each task, and says where the end is.
#[test]
fn a_search_comes_to_each_task() {
    let records = records(3000);
    let deque = Deque::new(Fence::new(0), 2);
    // SAFETY: this thread is the owner.
    let owner = unsafe { deque.owner() };
    records.iter().for_each(|record| _ = owner.push(unstarted(record)));
    let has = |wanted: *mut Header| {
        let mut from = 0;
        while !deque.any_from(&mut from, |task| task == wanted) {
            if from >= deque.position() {
                return false;
            }
        }
        true
    };
    for i in [0, 1, 1023, 1024, 2047, 2048, 2999] {
        assert!(has(pointer(&records[i])), "{i}");
    }
    let newest = taken(owner.pop());
    let mut oldest = [None];
    assert_eq!(deque.steal(&mut oldest), 0);
    assert!(!has(newest) && has(pointer(&records[2998])));
    // From behind the end it goes on with the oldest.
    let mut from = deque.position();
    assert!(deque.any_from(&mut from, |task| task == pointer(&records[0])) && from < deque.position());
}

#[test]
fn as_a_simple_list() {
    let rounds = if cfg!(miri) { 300 } else { 20_000 };
    for seed in 1..=20 {
        let records = records(200);
        let mut random = Random(seed);
        let mut both = Both::new(&records);
        for round in 0..rounds {
            // Times of growth and times of decline.
            let pushes = if round / 500 % 2 == 0 { 10 } else { 4 };
            match random.below(pushes + 12) {
                0 | 1 => both.pop(),
                2 => both.pop_oldest(),
                3..=5 => both.claim(&records[random.below(records.len())], random.below(2) == 0),
                6 => {
                    // The newest: the usual case.
                    if let Some(&newest) = both.list.back() {
                        // SAFETY: one of the records, which outlive all this.
                        both.claim(unsafe { &*newest.cast() }, false);
                    }
                }
                7 => both.steal(1 + random.below(BATCH)),
                8 => both.steal_forced(),
                9 => both.publish(),
                10 => both.pop_between(),
                11 => both.publish_lone(),
                _ => both.push(&mut random),
            }
            if round % 16 == 0 {
                both.check();
            }
        }
        while !both.list.is_empty() {
            both.pop();
        }
        both.check();
        both.pop();
        assert_eq!(both.free.len(), records.len());
    }
}

/// Joining in the order of spawning leaves a tombstone each, under a task that stays: the ring must
/// not grow with them.
#[test]
fn tombstones_are_dropped() {
    let records = records(3);
    let mut both = Both::new(&records);
    both.owner().push(unstarted(&records[0]));
    for _ in 0..10_000 {
        both.owner().push(unstarted(&records[1]));
        both.owner().push(unstarted(&records[2]));
        assert!([1, 2].iter().all(|&i| both.owner().claim(task_ref(&records[i])).is_some()));
    }
    assert!(both.owner().capacity() <= 8, "{}", both.owner().capacity());
    both.list.push_back(pointer(&records[0]));
    both.check();
}

/// Whatever comes and goes at both ends, each of those between is taken soon.
#[test]
fn between_busy_ends() {
    let records = records(400);
    let deque = Deque::new(Fence::new(0), 2);
    let [between @ .., oldest, newest] = &records[..] else { unreachable!() };
    // SAFETY: this thread is the owner.
    let owner = unsafe { deque.owner() };
    between.iter().for_each(|record| _ = owner.push(unstarted(record)));
    owner.push_oldest(runnable(oldest));
    let mut found = 0;
    for round in 0..2 * records.len() {
        // Its successor, on a top that goes up and down.
        owner.push(unstarted(newest));
        assert_eq!(taken(owner.pop_oldest()), pointer(oldest));
        owner.push_oldest(runnable(oldest));
        if round % 3 == 0 {
            assert_eq!(taken(owner.pop()), pointer(newest));
        }
        let task = taken(owner.pop_between());
        if task == pointer(oldest) {
            owner.push_oldest(runnable(oldest));
        } else {
            found += usize::from(!task.is_null());
        }
        if round % 3 > 0 {
            assert_eq!(taken(owner.pop()), pointer(newest));
        }
    }
    assert_eq!(found, between.len());
}

/// An owner that does all it may, and thieves of both kinds: each task is taken once.
/// A pass that has come to the newest task begins anew. It waited there for more, and what had been
/// pushed at the oldest end meanwhile, behind a task that is always the oldest, was never found.
#[test]
fn a_pass_that_has_come_to_the_newest() {
    let records = records(6);
    let deque = Deque::new(Fence::new(0), 2);
    // SAFETY: this thread is the owner.
    let owner = unsafe { deque.owner() };
    let [behind, oldest, others @ ..] = &records[..] else { unreachable!() };
    others.iter().for_each(|record| _ = owner.push(unstarted(record)));
    // Two are passed, and then the end comes down to where the pass is.
    (0..2).for_each(|i| assert_eq!(taken(owner.pop_between()), pointer(&others[i])));
    assert_eq!(taken(owner.pop()), pointer(&others[3]));
    owner.push_oldest(runnable(behind));
    owner.push_oldest(runnable(oldest));
    let found: Vec<_> = (0..4).map(|_| taken(owner.pop_between())).filter(|task| !task.is_null()).collect();
    assert_eq!(found, [pointer(oldest), pointer(behind)]);
}

#[test]
fn each_task_is_taken_once() {
    let (tasks, thieves) = if cfg!(miri) { (400, 2) } else { (200_000, 3) };
    let records = records(tasks);
    let counts: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
    let (drained, base) = (AtomicBool::new(false), records.as_ptr().addr());
    let take = |task: Runnable| {
        // Relaxed: read again after the threads were joined.
        counts[(task.into_raw().addr() - base) / size_of::<TestRecord>()].fetch_add(1, Relaxed);
    };
    let deque = Deque::new(Fence::new(0), 2);
    std::thread::scope(|s| {
        for thief in 0..thieves {
            let (deque, take, drained) = (&deque, &take, &drained);
            s.spawn(move || {
                let mut room = [const { None }; BATCH];
                while !drained.load(Relaxed) {
                    deque.request();
                    let n = deque.steal(&mut room[..1 + thief * 60]);
                    room[..n].iter_mut().filter_map(Option::take).for_each(take);
                    if n == 0 {
                        deque.steal_forced().map_or_else(std::thread::yield_now, take);
                    }
                }
            });
        }
        let mut random = Random(1);
        let mut next = 0;
        // SAFETY: this thread is the owner.
        let owner = unsafe { deque.owner() };
        while next < tasks {
            let batch = (1 + random.below(40)).min(tasks - next);
            for record in &records[next..next + batch] {
                if owner.push(unstarted(record)) {
                    deque.take_request();
                    _ = if random.below(2) == 0 { owner.publish() } else { owner.publish_lone() };
                }
            }
            for record in &records[next..next + batch] {
                match random.below(5) {
                    0 => owner.claim(task_ref(record)).map(Runnable::from).into_iter().for_each(take),
                    1 => owner.pop().into_iter().for_each(take),
                    2 => owner.pop_oldest().into_iter().for_each(take),
                    3 => owner.pop_between().into_iter().for_each(take),
                    _ => {}
                }
            }
            next += batch;
        }
        std::iter::from_fn(|| owner.pop()).for_each(take);
        drained.store(true, Relaxed);
    });
    assert!(!deque.is_busy());
    assert_eq!(counts.iter().position(|n| n.load(Relaxed) != 1), None, "a task taken twice, or not at all");
}
