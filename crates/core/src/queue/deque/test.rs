//! What the models of loom are too small for: rings that wrap and grow, tombstones by the dozen,
//! steals of many tasks, long lives of records. One thread against a simple list; then many
//! threads, counting.

use super::fairness::SWEEP;
use super::*;
use crate::queue::records::{Random, TestRecord, pointer, records};
use crate::record::header::Marks;
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
        record.marks.store(0, Relaxed);
        // SAFETY: this thread is the owner, and the record is in no deque.
        unsafe {
            match random.below(8) {
                0 => {
                    record.idx.store(UNCLAIMED, Relaxed);
                    self.deque.push_oldest(pointer(record));
                    self.list.push_front(pointer(record));
                    return;
                }
                1 => {
                    record.idx.store(UNCLAIMED, Relaxed);
                    self.deque.push_unclaimed(pointer(record));
                }
                2 | 3 if self.deque.is_plain() => _ = self.deque.push_plain(pointer(record)),
                _ => _ = self.deque.push(pointer(record)),
            }
        }
        self.list.push_back(pointer(record));
    }

    fn pop(&mut self) {
        let expected = self.list.pop_back();
        // SAFETY: this thread is the owner.
        let task = unsafe { self.deque.pop() };
        self.taken(expected, task);
    }

    fn pop_oldest(&mut self) {
        let expected = self.list.pop_front();
        // SAFETY: this thread is the owner.
        let task = unsafe { self.deque.pop_oldest() };
        self.taken(expected, task);
    }

    fn pop_between(&mut self) {
        let d = &self.deque;
        let (head, top) = (d.head.load(Relaxed), d.top.load(Relaxed));
        // SAFETY: this thread is the owner.
        let own = unsafe { d.own.get() };
        let (from, end) = if head < top { own.sweep_from(head, top) } else { (0, 0) };
        let places = (from..end.min(from + SWEEP).min(top.wrapping_sub(1))).map(|i| d.slot(i).load(Relaxed));
        let expected = places.filter(|task| !task.is_null()).min_by_key(|&t| self.list.iter().position(|&l| l == t));
        // SAFETY: this thread is the owner.
        let task = unsafe { self.deque.pop_between() };
        self.list.retain(|&t| t != task);
        self.taken(expected, task);
    }

    /// Any record: in the deque or not, claimable or not.
    fn claim(&mut self, record: &'a TestRecord, nested: bool) {
        let place = self.list.iter().position(|&t| t == pointer(record));
        let claimable = place.filter(|_| record.idx.load(Relaxed) != UNCLAIMED);
        // SAFETY: this thread is the owner; the record was pushed, or its `idx` says that it was
        // not.
        let claimed = unsafe { nested && self.deque.claim_plain(record) || self.deque.claim(record) };
        assert_eq!(claimed, claimable.is_some());
        if let Some(place) = claimable {
            let task = self.list.remove(place);
            self.taken(task, pointer(record));
        }
    }

    fn steal(&mut self, room: usize) {
        let d = &self.deque;
        let (head, split) = (d.head.load(Relaxed), d.split.load(Relaxed));
        let public = (head..split).filter(|&i| !d.slot(i).load(Relaxed).is_null()).count();
        let mut room = vec![null_mut(); room];
        let taken = d.steal(&mut room);
        assert_eq!(taken, public.min(room.len()).min((split - head).div_ceil(2)));
        for &task in &room[..taken] {
            let oldest = self.list.pop_front();
            self.taken(oldest, task);
        }
    }

    /// Takes the oldest, or nothing while there are public tasks.
    fn steal_forced(&mut self) {
        let public = self.deque.head.load(Relaxed) < self.deque.split.load(Relaxed);
        let expected = if public { None } else { self.list.pop_front() };
        let task = self.deque.steal_forced();
        // SAFETY: one of the records, which outlive all this.
        assert!(task.is_null() || unsafe { (*task).marks.load(Relaxed) } & Marks::STOLEN != 0);
        self.taken(expected, task);
    }

    fn publish(&mut self) {
        let (top, split) = (self.deque.top.load(Relaxed), self.deque.split.load(Relaxed));
        // SAFETY: this thread is the owner.
        assert!(unsafe { self.deque.publish() }, "nobody has the lock");
        assert_eq!(self.deque.split.load(Relaxed), split + if top > split + 1 { (top - split) / 2 } else { 0 });
    }

    fn publish_lone(&mut self) {
        let (top, split) = (self.deque.top.load(Relaxed), self.deque.split.load(Relaxed));
        // SAFETY: this thread is the owner.
        assert!(unsafe { self.deque.publish_lone() }, "nobody has the lock");
        assert_eq!(self.deque.split.load(Relaxed), split.max(split + top.saturating_sub(split).div_ceil(2)));
    }

    fn check(&self) {
        let d = &self.deque;
        let (head, split, top) = (d.head.load(Relaxed), d.split.load(Relaxed), d.top.load(Relaxed));
        assert!(head <= split && split <= top && top - head <= d.capacity(), "{head:#x} {split:#x} {top:#x}");
        assert_eq!(d.is_busy(), !self.list.is_empty());
        let held = (head..top).map(|i| d.slot(i).load(Relaxed)).filter(|t| !t.is_null());
        assert!(held.eq(self.list.iter().copied()), "another order than it should be");
    }
}

/// What [`offer`](crate::api::split::offer) asks before it takes the lock, and what it brings
/// about.
#[test]
fn a_task_is_public_until_it_is_stolen() {
    let records = records(2);
    let deque = Deque::new(Fence::new(0), 2);
    // SAFETY: this thread is the owner, and the records are in no deque.
    unsafe {
        deque.push(pointer(&records[0]));
        assert!(!deque.has_public() && deque.steal(&mut [null_mut(); 2]) == 0, "a lone task is held back");
        assert!(deque.publish_lone() && deque.has_public());
        deque.push(pointer(&records[1]));
        assert!(deque.has_public());
        let mut room = [null_mut(); 2];
        assert_eq!((deque.steal(&mut room), room[0]), (1, pointer(&records[0])));
        assert!(!deque.has_public(), "the other one is private");
        assert!(deque.claim(&records[1]) && !deque.has_public());
    }
}

/// A search that goes on where the last one stopped comes to each task, and says where the end is.
#[test]
fn a_search_comes_to_each_task() {
    let records = records(3000);
    let deque = Deque::new(Fence::new(0), 2);
    // SAFETY: this thread is the owner, and the records are in no deque.
    records.iter().for_each(|record| _ = unsafe { deque.push(pointer(record)) });
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
    // SAFETY: this thread is the owner.
    let newest = unsafe { deque.pop() };
    let mut oldest = [null_mut()];
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
    // SAFETY: this thread is the owner, and the records are in no deque.
    unsafe { both.deque.push(pointer(&records[0])) };
    for _ in 0..10_000 {
        // SAFETY: this thread is the owner, and the two records are in no deque: each round claims
        // them.
        unsafe {
            both.deque.push(pointer(&records[1]));
            both.deque.push(pointer(&records[2]));
            assert!(both.deque.claim(&records[1]) && both.deque.claim(&records[2]));
        }
    }
    assert!(both.deque.capacity() <= 8, "{}", both.deque.capacity());
    both.list.push_back(pointer(&records[0]));
    both.check();
}

/// Whatever comes and goes at both ends, each of those between is taken soon.
#[test]
fn between_busy_ends() {
    let records = records(400);
    let deque = Deque::new(Fence::new(0), 2);
    let [between @ .., oldest, newest] = &records[..] else { unreachable!() };
    // SAFETY: this thread is the owner, and each record is in the deque once at most.
    unsafe {
        between.iter().for_each(|record| _ = deque.push(pointer(record)));
        deque.push_oldest(pointer(oldest));
        let mut taken = 0;
        for round in 0..2 * records.len() {
            // Its successor, on a top that goes up and down.
            deque.push(pointer(newest));
            let task = deque.pop_oldest();
            assert_eq!(task, pointer(oldest));
            deque.push_oldest(task);
            if round % 3 == 0 {
                assert_eq!(deque.pop(), pointer(newest));
            }
            let task = deque.pop_between();
            if task == pointer(oldest) {
                deque.push_oldest(task);
            } else {
                taken += usize::from(!task.is_null());
            }
            if round % 3 > 0 {
                assert_eq!(deque.pop(), pointer(newest));
            }
        }
        assert_eq!(taken, between.len());
    }
}

/// An owner that does all it may, and thieves of both kinds: each task is taken once.
#[test]
fn each_task_is_taken_once() {
    let (tasks, thieves) = if cfg!(miri) { (400, 2) } else { (200_000, 3) };
    let records = records(tasks);
    let taken: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
    let (drained, base) = (AtomicBool::new(false), records.as_ptr().addr());
    let take = |task: *mut Header| {
        // Relaxed: read again after the threads were joined.
        taken[(task.addr() - base) / size_of::<TestRecord>()].fetch_add(1, Relaxed);
    };
    let deque = Deque::new(Fence::new(0), 2);
    std::thread::scope(|s| {
        for thief in 0..thieves {
            let (deque, take, drained) = (&deque, &take, &drained);
            s.spawn(move || {
                let mut room = [null_mut(); BATCH];
                while !drained.load(Relaxed) {
                    deque.ask();
                    let n = deque.steal(&mut room[..1 + thief * 60]);
                    room[..n].iter().for_each(|&task| take(task));
                    if n == 0 {
                        let task = deque.steal_forced();
                        if task.is_null() { std::thread::yield_now() } else { take(task) }
                    }
                }
            });
        }
        let mut random = Random(1);
        let mut next = 0;
        // SAFETY: this thread is the owner; each record is pushed once, and claimed once at most.
        unsafe {
            while next < tasks {
                let batch = (1 + random.below(40)).min(tasks - next);
                for record in &records[next..next + batch] {
                    if deque.push(pointer(record)) {
                        deque.take_request();
                        _ = if random.below(2) == 0 { deque.publish() } else { deque.publish_lone() };
                    }
                }
                for record in &records[next..next + batch] {
                    match random.below(5) {
                        0 if deque.claim(record) => take(pointer(record)),
                        1 => Some(deque.pop()).filter(|t| !t.is_null()).into_iter().for_each(take),
                        2 => Some(deque.pop_oldest()).filter(|t| !t.is_null()).into_iter().for_each(take),
                        3 => Some(deque.pop_between()).filter(|t| !t.is_null()).into_iter().for_each(take),
                        _ => {}
                    }
                }
                next += batch;
            }
            loop {
                let task = deque.pop();
                if task.is_null() {
                    break;
                }
                take(task);
            }
        }
        drained.store(true, Relaxed);
    });
    assert!(!deque.is_busy());
    assert_eq!(taken.iter().position(|n| n.load(Relaxed) != 1), None, "a task taken twice, or not at all");
}
