//! Tests of the wheel: named situations, and a random run against a sorted map.

use super::*;
use std::collections::BTreeMap;

/// Xorshift64*.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

impl Wheel {
    /// Checks the invariants of the module's header and of `level`.
    fn check(&self) {
        let mut count = 0;
        for (l, level) in self.levels.iter().enumerate() {
            let occupied = level.as_ref().is_some_and(|level| !level.is_empty());
            assert_eq!(self.occupied >> l & 1 == 1, occupied, "bit of level {l}");
            let Some(level) = level else { continue };
            for i in 0..SLOTS {
                let (nodes, min) = level.check(i);
                count += nodes.len();
                for node in nodes {
                    // SAFETY: linked; a test has one thread.
                    let (slot, deadline) = unsafe { ((*node).slot, (*node).deadline) };
                    assert_eq!(usize::from(slot), l * SLOTS + i);
                    let key = deadline.max(self.cursor);
                    assert!(unit(l, key) - unit(l, self.cursor) < SLOTS as u64, "invariant 2: too far");
                    assert_eq!(index(unit(l, key)), i, "invariant 2: wrong slot");
                    assert!(self.next <= min && min <= deadline, "invariant 3");
                }
            }
        }
        for node in self.put_back.check() {
            count += 1;
            // SAFETY: linked; a test has one thread.
            let (slot, deadline) = unsafe { ((*node).slot, (*node).deadline) };
            assert_eq!(slot, PUT_BACK);
            assert!(self.next <= self.put_back.min() && self.put_back.min() <= deadline);
        }
        assert_eq!(self.len, count);
    }
}

/// A wheel, its nodes, and what should be in it.
struct Model {
    wheel: Wheel,
    nodes: Vec<*mut TimerNode>,
    /// Key in `pending`, for each node.
    keys: Vec<Option<(u64, u64)>>,
    pending: BTreeMap<(u64, u64), usize>,
    inserted: u64,
    now: u64,
}

impl Model {
    fn new(nodes: usize, now: u64) -> Model {
        let node = |i| Box::into_raw(Box::new(TimerNode::new(std::ptr::without_provenance_mut(i), 0)));
        Model {
            wheel: Wheel::new(now),
            nodes: (0..nodes).map(node).collect(),
            keys: vec![None; nodes],
            pending: BTreeMap::new(),
            inserted: 0,
            now,
        }
    }
    fn insert(&mut self, i: usize, deadline: u64) {
        // SAFETY: the key says that it is not in the wheel; it lives until the model is dropped.
        unsafe { self.wheel.insert(self.nodes[i], deadline) };
        self.keys[i] = Some((deadline, self.inserted));
        self.pending.insert((deadline, self.inserted), i);
        self.inserted += 1;
    }
    fn remove(&mut self, i: usize) {
        // SAFETY: the node is alive, and there is one wheel.
        let removed = unsafe { self.wheel.remove(self.nodes[i]) };
        assert_eq!(removed, self.keys[i].is_some());
        if let Some(key) = self.keys[i].take() {
            self.pending.remove(&key);
        }
    }
    /// Advances both, and compares the nodes and their order. Returns how many came out.
    fn advance(&mut self, now: u64) -> usize {
        // SAFETY: the chain is walked once, here.
        let mut node = unsafe { self.wheel.advance(now) };
        self.now = self.now.max(now);
        let mut fired = 0;
        while !node.is_null() {
            // SAFETY: in the chain.
            let (i, slot) = unsafe { ((*node).data.addr(), (*node).slot) };
            let (&key, &expected) = self.pending.first_key_value().expect("fired, but nothing is pending");
            assert!(key.0 <= now, "fired early: {} at {now}", key.0);
            assert_eq!(expected, i, "out of order");
            assert_eq!(slot, NOWHERE);
            self.pending.pop_first();
            self.keys[i] = None;
            fired += 1;
            // SAFETY: in the chain; nothing has been freed.
            node = unsafe { TimerNode::next(node) };
        }
        if let Some((&(deadline, _), _)) = self.pending.first_key_value() {
            assert!(deadline > now || deadline == u64::MAX, "not fired: {deadline} at {now}");
        }
        assert!(self.wheel.next_event().is_none_or(|next| next > now), "no progress");
        self.check_next();
        fired
    }
    fn check_next(&self) {
        assert_eq!(self.wheel.len(), self.pending.len());
        let earliest = self.pending.first_key_value().map_or(u64::MAX, |(key, _)| key.0);
        let next = self.wheel.next_event().unwrap_or(u64::MAX);
        assert!(next <= earliest, "next event {next} after the deadline {earliest}");
        assert!(!self.pending.is_empty() || next == u64::MAX, "an empty wheel waits for {next}");
    }
    /// Goes from event to event until nothing is to come; returns the number of advances.
    fn run_dry(&mut self) -> usize {
        let mut advances = 0;
        while let Some(next) = self.wheel.next_event() {
            self.advance(next);
            advances += 1;
        }
        assert!(self.pending.keys().all(|key| key.0 == u64::MAX));
        advances
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.wheel = Wheel::new(0);
        for &node in &self.nodes {
            // SAFETY: from `Box::into_raw` in `new`; the wheel that knew it is gone.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const HOUR: u64 = 3_600 * SECOND;

#[test]
fn empty_is_small_and_silent() {
    let mut model = Model::new(0, 5);
    assert!(size_of::<Wheel>() <= 168 && size_of::<TimerNode>() <= 40);
    assert!(model.wheel.is_empty() && model.wheel.levels.iter().all(|level| level.is_none()));
    assert_eq!(model.wheel.next_event(), None);
    for now in [0, 5, HOUR, u64::MAX] {
        assert_eq!(model.advance(now), 0);
    }
}

/// Whatever the distance, a worker that sleeps until `next_event` wakes up once, at the deadline.
#[test]
fn lone_sleeper_is_one_event() {
    for start in [0, 1, 63, 4095, 123_456_789_012_345] {
        for bit in 0..63 {
            for deadline in [(1 << bit) - 1, 1 << bit, (1 << bit) + 1].map(|delta| start + delta) {
                let mut model = Model::new(1, start);
                model.insert(0, deadline);
                model.wheel.check();
                assert_eq!(model.wheel.next_event(), Some(deadline));
                if deadline > start {
                    assert_eq!(model.advance(deadline - 1), 0);
                    model.wheel.check();
                }
                assert_eq!(model.wheel.next_event(), Some(deadline));
                assert_eq!(model.advance(deadline), 1);
            }
        }
    }
}

/// The same in company: a slot is left alone until its own first timer is due, even when the cursor
/// is in it.
#[test]
fn undisturbed_sleeper_stays_in_its_slot() {
    let mut model = Model::new(2, 0);
    let slot = 5 << 30;
    model.insert(0, slot + 1_000);
    // SAFETY: alive; a test has one thread.
    let slot_of = |model: &Model| unsafe { (*model.nodes[0]).slot };
    let before = slot_of(&model);
    model.insert(1, slot - 1);
    assert_eq!(model.advance(slot + 999), 1);
    assert_eq!(slot_of(&model), before);
    assert_eq!(model.wheel.next_event(), Some(slot + 1_000));
}

#[test]
fn order_is_exact_and_equal_deadlines_are_fifo() {
    let mut rng = Rng(7);
    let mut model = Model::new(3_000, 1_000);
    for i in 0..3_000 {
        let within = [10, 1_000, MS, SECOND][i % 4];
        model.insert(i, 1_000 + rng.below(within) / 7 * 7);
        if i % 100 == 0 {
            // Later ones with the same deadline start from lower levels than the earlier ones.
            model.advance(1_000 + i as u64);
        }
    }
    model.wheel.check();
    assert!(model.advance(2 * SECOND) > 1_000);
}

#[test]
fn past_deadlines_fire_at_the_next_advance() {
    let mut model = Model::new(4, 1_000);
    for (i, deadline) in [900, 0, 1_000, 901].into_iter().enumerate() {
        model.insert(i, deadline);
    }
    assert_eq!(model.wheel.next_event(), Some(0));
    model.wheel.check();
    // Another thread's clock may be behind: even so nothing fires before its time.
    assert_eq!(model.advance(900), 2);
    model.wheel.check();
    assert_eq!(model.wheel.next_event(), Some(901));
    assert_eq!(model.advance(1_000), 2);
}

#[test]
fn never_and_almost_never() {
    let mut model = Model::new(600, 0);
    for i in 0..600 {
        model.insert(i, u64::MAX);
    }
    model.run_dry();
    model.remove(0);
    model.insert(0, u64::MAX - 1);
    model.wheel.check();
    assert_eq!(model.advance(u64::MAX - 2), 0);
    assert_eq!(model.advance(u64::MAX), 1);
    assert_eq!(model.advance(u64::MAX), 0);
    model.wheel.check();
    model.insert(0, u64::MAX);
    assert_eq!(model.advance(u64::MAX), 0);
    (0..600).for_each(|i| model.remove(i));
    assert_eq!(model.wheel.next_event(), None);
}

#[test]
fn removed_ones_do_not_fire() {
    let mut model = Model::new(5, 0);
    model.remove(0);
    // In one slot: the only one, then first, middle and last.
    for order in [vec![0], vec![0, 1], vec![1, 0], vec![1, 0, 2], vec![2, 1], vec![4, 3, 2, 1, 0]] {
        (0..=order.iter().copied().max().unwrap_or(0)).for_each(|i| model.insert(i, SECOND + i as u64));
        order.iter().for_each(|&i| {
            model.remove(i);
            model.remove(i);
            model.wheel.check();
            model.check_next();
        });
        (0..5).for_each(|i| model.remove(i));
        assert!(model.wheel.is_empty() && model.wheel.next_event().is_none());
    }
    model.insert(0, 10);
    assert_eq!(model.advance(10), 1);
    model.remove(0);
}

/// When the earliest goes, the next event is that of the others, if it was alone in its slot.
#[test]
fn next_event_after_removal() {
    let mut model = Model::new(2, 0);
    model.insert(0, MS);
    model.insert(1, SECOND);
    model.remove(0);
    assert_eq!(model.wheel.next_event(), Some(SECOND));
}

/// A crowd is an event before its time; none is left when all are gone.
#[test]
fn removed_crowd_leaves_no_event() {
    let mut model = Model::new(100, 0);
    (0..100).for_each(|i| model.insert(i, 40 << 30));
    assert!(model.wheel.next_event() < Some(40 << 30));
    (0..100).for_each(|i| model.remove(i));
    assert_eq!(model.wheel.next_event(), None);
}

#[test]
fn long_gaps() {
    let mut model = Model::new(64, 0);
    for gap in [1, SECOND, HOUR, 24 * HOUR, 1 << 50, 1 << 62] {
        let start = model.now;
        (0..64).for_each(|i| model.insert(i, start + (gap >> (i % 60)) + i as u64 / 60));
        assert_eq!(model.advance(start + gap - 1) + model.advance(start + 2 * gap), 64);
        model.wheel.check();
    }
}

/// No single advance moves more than a bounded number of timers that are not due, and a crowd is
/// spread by the time at which its first timer is due.
#[test]
fn crowds_are_spread_in_portions() {
    const N: usize = 5_000;
    let mut rng = Rng(11);
    let mut model = Model::new(N, 0);
    // All in one slot, 1.07 s wide.
    let (width, start) = (1 << 30, 30 << 30);
    (0..N).for_each(|i| model.insert(i, start + rng.below(width)));
    let slots = |model: &Model| -> Vec<u16> {
        // SAFETY: alive; a test has one thread.
        model.nodes.iter().map(|&node| unsafe { (*node).slot }).collect()
    };
    let (mut before, mut worst) = (slots(&model), 0);
    while let Some(next) = model.wheel.next_event() {
        let fired = model.advance(next);
        let after = slots(&model);
        let moved = before.iter().zip(&after).filter(|(a, b)| a != b).count() - fired;
        worst = worst.max(moved);
        before = after;
    }
    // In a slot that is due there are at most CROWD on each level; here three levels may have as
    // many.
    assert!(worst <= (PORTION * ARREARS) as usize + 3 * level::CROWD as usize, "{worst} moved by one advance");
    assert!(model.pending.is_empty());
}

/// Inserted, removed and set again while a crowd is half spread: the order still holds.
#[test]
fn half_spread_crowd() {
    let mut model = Model::new(4_000, 0);
    let deadline = 40 << 30;
    (0..2_000).for_each(|i| model.insert(i, deadline + i as u64 % 3));
    let event = model.wheel.next_event().expect("a crowd is an event");
    assert!(event < deadline, "spread before its time");
    for i in 0..2_000 {
        if i % 500 == 0 {
            model.advance(model.wheel.next_event().expect("spreading"));
            model.wheel.check();
        }
        model.insert(2_000 + i, deadline + i as u64 % 3);
        model.remove(i / 2);
    }
    model.wheel.check();
    model.run_dry();
}

fn random_run(seed: u64, steps: usize) {
    println!("seed {seed}");
    let mut rng = Rng(seed | 1);
    let nodes = [3, 40, 1_000, 6_000][seed as usize % 4];
    let start = [0, rng.below(HOUR), rng.next() >> 1, u64::MAX - rng.below(HOUR)][seed as usize / 4 % 4];
    let mut model = Model::new(nodes, start);
    // Deadlines: within so many bits; and a few that many share.
    let bits = 1 + rng.below(63);
    let common: Vec<u64> = (0..4).map(|_| start.saturating_add(rng.next() >> (64 - bits))).collect();
    for step in 0..steps {
        let i = rng.below(nodes as u64) as usize;
        // With many nodes the clock mostly rests, so that crowds gather.
        let calm = nodes > 100 && rng.below(20) > 0;
        match rng.below(if calm { 12 } else { 16 }) {
            0..8 if model.keys[i].is_none() => {
                let distance = rng.next() >> (64 - bits) >> rng.below(bits);
                model.insert(
                    i,
                    match rng.below(40) {
                        0 => u64::MAX - rng.below(2),
                        1 => model.now.saturating_sub(distance),
                        2..12 => common[rng.below(4) as usize],
                        _ => model.now.saturating_add(distance),
                    },
                );
                model.check_next();
            }
            0..12 => {
                model.remove(i);
                model.check_next();
            }
            12 => drop(model.advance(model.now.saturating_sub(rng.below(1_000)))),
            13 => drop(model.advance(model.now.saturating_add(rng.next() >> (64 - bits) >> rng.below(bits)))),
            _ => {
                for _ in 0..rng.below(8) {
                    model.advance(model.wheel.next_event().unwrap_or(model.now));
                }
            }
        }
        if step % (10 * nodes) < 10 {
            model.wheel.check();
        }
    }
    model.wheel.check();
    model.run_dry();
    model.wheel.check();
}

#[test]
fn random_against_a_sorted_map() {
    for seed in 0..32 {
        random_run(seed, 12_000);
    }
}

/// `WHEEL_SEEDS=100000 cargo test --release -p myriad-core many_seeds -- --ignored`
#[test]
#[ignore = "long"]
fn many_seeds() {
    let seeds = std::env::var("WHEEL_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    let first = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()) << 20;
    for seed in first..first + seeds {
        random_run(seed, 20_000);
    }
}

/// What was put back can be removed, is due, and comes out in order, before what has become due
/// since.
#[test]
fn put_back_ones() {
    let mut m = Model::new(100, 0);
    for i in 0..100 {
        m.insert(i, 1000 + i as u64);
    }
    // SAFETY: the chain is put back from its eleventh node on; the ten before are fired by being
    // looked at.
    unsafe {
        let mut node = m.wheel.advance(1059);
        for i in 0..10 {
            assert_eq!((*node).data.addr(), i);
            node = TimerNode::next(node);
        }
        m.wheel.put_back(node);
    }
    m.wheel.check();
    assert_eq!((m.wheel.len(), m.wheel.next_event()), (90, Some(1010)));
    // The first, the last, one of the middle, one that is not due.
    for i in [10, 59, 30, 99] {
        // SAFETY: alive, and there is one wheel.
        assert!(unsafe { m.wheel.remove(m.nodes[i]) });
        // SAFETY: alive, and there is one wheel, in which it is no more.
        assert!(!unsafe { m.wheel.remove(m.nodes[i]) });
        m.wheel.check();
    }
    for i in (11..59).filter(|&i| i != 30) {
        assert!(m.wheel.next_event().is_some_and(|next| next <= 1059));
        // SAFETY: fired by being looked at.
        assert_eq!(unsafe { (*m.wheel.pop_put_back()).data.addr() }, i);
        m.wheel.check();
    }
    // SAFETY: none is left.
    assert!(unsafe { m.wheel.pop_put_back() }.is_null());
    assert_eq!((m.wheel.len(), m.wheel.next_event()), (39, Some(1060)));

    // All at once, some of them put back.
    // SAFETY: the chain is put back whole, and the second one is walked once.
    unsafe {
        let chain = m.wheel.advance(1070);
        m.wheel.put_back(chain);
        let mut all = m.wheel.take_all();
        let mut seen = std::collections::BTreeSet::new();
        while !all.is_null() {
            assert!(seen.insert((*all).data.addr()) && (*all).is_nowhere());
            all = TimerNode::next(all);
        }
        assert!(seen.into_iter().eq(60..99));
    }
    m.wheel.check();
    assert_eq!((m.wheel.len(), m.wheel.next_event()), (0, None));
}
