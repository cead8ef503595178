//! Figures of the wheel with a million timers, one line each:
//! `cargo test --release -p myriad-core wheel::figures -- --ignored --nocapture --test-threads 1`
//!
//! Nodes are spread over memory in random order (40 MB: not in the second-level cache), as those of
//! real waiters are.

use super::test::Rng;
use super::*;
use std::time::Instant;

const N: usize = 1_000_000;
const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;
const HOUR: u64 = 3_600 * SECOND;

/// A million nodes, and pointers to them in random order.
fn nodes() -> (Vec<TimerNode>, Vec<*mut TimerNode>) {
    let mut nodes: Vec<TimerNode> = (0..N).map(|_| TimerNode::new(null_mut(), 0)).collect();
    let base = nodes.as_mut_ptr();
    let mut pointers: Vec<_> = (0..N).map(|i| base.wrapping_add(i)).collect();
    shuffle(&mut pointers);
    (nodes, pointers)
}

fn shuffle(pointers: &mut [*mut TimerNode]) {
    let mut rng = Rng(42);
    for i in (1..pointers.len()).rev() {
        pointers.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

fn count(mut chain: *mut TimerNode, mut each: impl FnMut(*mut TimerNode)) -> usize {
    let mut n = 0;
    while !chain.is_null() {
        each(chain);
        n += 1;
        // SAFETY: in the chain; the nodes live in the caller's vector.
        chain = unsafe { TimerNode::next(chain) };
    }
    n
}

/// Nanoseconds per operation over `pointers`.
fn per(pointers: &[*mut TimerNode], mut f: impl FnMut(*mut TimerNode)) -> f64 {
    let start = Instant::now();
    pointers.iter().for_each(|&node| f(node));
    start.elapsed().as_nanos() as f64 / pointers.len() as f64
}

#[test]
#[ignore = "a measurement"]
fn insert_and_remove() {
    for (name, within) in [("1 s", SECOND), ("1 h", HOUR)] {
        let (_nodes, pointers) = nodes();
        let mut rng = Rng(9);
        let mut wheel = Wheel::new(12_345);
        let mut insert = |wheel: &mut Wheel, node| {
            // SAFETY: the node lives in `_nodes` and is in no wheel.
            unsafe { wheel.insert(node, 12_345 + rng.below(within)) }
        };
        let remove = |wheel: &mut Wheel, node| {
            // SAFETY: it is in this wheel.
            assert!(unsafe { wheel.remove(node) })
        };
        per(&pointers, |node| insert(&mut wheel, node));
        // All pending. A round removes and sets again a tenth, far apart in the wheel and in
        // memory.
        let (mut removal, mut insertion, mut pair) = (Vec::new(), Vec::new(), Vec::new());
        for tenth in pointers.chunks(N / 10) {
            removal.push(per(tenth, |node| remove(&mut wheel, node)));
            insertion.push(per(tenth, |node| insert(&mut wheel, node)));
            pair.push(per(tenth, |node| {
                set_again(node, &mut wheel, &mut insert);
                remove(&mut wheel, node);
                insert(&mut wheel, node);
            }));
        }
        let median = |v: &mut Vec<f64>| {
            v.sort_by(f64::total_cmp);
            v[v.len() / 2]
        };
        println!(
            "within {name}: insert {:.1} ns, remove {:.1} ns; remove, set, remove, set of one node {:.1} ns",
            median(&mut insertion),
            median(&mut removal),
            median(&mut pair),
        );
    }
}

/// Takes a pending node out and sets it again.
fn set_again(node: *mut TimerNode, wheel: &mut Wheel, insert: &mut impl FnMut(&mut Wheel, *mut TimerNode)) {
    // SAFETY: it is in this wheel.
    assert!(unsafe { wheel.remove(node) });
    insert(wheel, node);
}

/// Goes from event to event, 50 us late each time, until all have fired; the worst advance is the
/// smallest of three runs, step by step, to leave out what other processes did to it.
#[test]
#[ignore = "a measurement"]
fn advance_to_the_end() {
    let within = |from: u64, width: u64| move |rng: &mut Rng| from + rng.below(width);
    type Deadlines<'a> = &'a dyn Fn(&mut Rng) -> u64;
    let cases: [(&str, usize, Deadlines<'_>); 7] = [
        ("1,000 within 1 s", 1_000, &within(0, SECOND)),
        ("10,000 within 10 s", 10_000, &within(0, 10 * SECOND)),
        ("a million within 1 s", N, &within(0, SECOND)),
        ("a million within 1 h", N, &within(0, HOUR)),
        ("a million within one slot of 1 s", N, &within(30 << 30, 1 << 30)),
        ("a million within one slot of 68 s", N, &within(50 << 36, 1 << 36)),
        ("a million at the same time", N, &|_| 40 * SECOND),
    ];
    for (name, n, deadline) in cases {
        let (_nodes, pointers) = nodes();
        let pointers = &pointers[..n];
        let mut steps: Vec<(u64, usize)> = Vec::new();
        let mut total = f64::MAX;
        for run in 0..3 {
            let mut rng = Rng(5);
            let mut wheel = Wheel::new(0);
            // SAFETY: the nodes live in `_nodes`; the wheel of the run before was emptied.
            pointers.iter().for_each(|&node| unsafe { wheel.insert(node, deadline(&mut rng)) });
            let (mut step, mut sum) = (0, 0);
            while let Some(next) = wheel.next_event() {
                let start = Instant::now();
                // SAFETY: the chain is walked once.
                let chain = unsafe { wheel.advance(next + 50_000) };
                let took = start.elapsed().as_nanos() as u64;
                let fired = count(chain, |_| ());
                sum += took;
                if run == 0 {
                    steps.push((took, fired));
                }
                steps[step].0 = steps[step].0.min(took);
                step += 1;
            }
            assert!(wheel.is_empty() && step == steps.len());
            total = total.min(sum as f64);
        }
        let advances = steps.len();
        let (worst, fired) = steps.iter().copied().max().unwrap_or_default();
        let idle = steps.iter().filter(|step| step.1 == 0).count();
        println!(
            "{name}: {:.0} ns a timer in all, {advances} advances, {idle} of them without a timer; the worst {:.1} us, \
             with {fired} timers",
            total / n as f64,
            worst as f64 / 1e3,
        );
    }
}

/// After a gap all are due, and `advance` sorts them: the time for each.
#[test]
#[ignore = "a measurement"]
fn advance_after_a_gap() {
    for (name, n, within) in
        [("1,000", 1_000, MS), ("30,000", 30_000, SECOND), ("a million", N, SECOND), ("a million", N, HOUR)]
    {
        let (_nodes, pointers) = nodes();
        let mut best = f64::MAX;
        for run in 0..5 {
            let (mut rng, mut wheel) = (Rng(6 + run), Wheel::new(77));
            // SAFETY: the nodes live in `_nodes`; the wheel of the run before was emptied.
            pointers[..n].iter().for_each(|&node| unsafe { wheel.insert(node, 77 + rng.below(within)) });
            let start = Instant::now();
            // SAFETY: the chain is walked once.
            let chain = unsafe { wheel.advance(77 + within) };
            best = best.min(start.elapsed().as_nanos() as f64 / n as f64);
            assert_eq!(count(chain, |_| ()), n);
        }
        println!("{name} within {} ms: {best:.0} ns a timer", within / MS);
    }
}

/// Real time: one thread polls the clock; how late do a million timers fire?
#[test]
#[ignore = "a measurement"]
fn lateness() {
    for (name, from, width) in [("1 to 2 s", SECOND, SECOND), ("2 to 10 s", 2 * SECOND, 8 * SECOND)] {
        let (_nodes, pointers) = nodes();
        let mut rng = Rng(3);
        let clock = Instant::now();
        let now = || clock.elapsed().as_nanos() as u64;
        let mut wheel = Wheel::new(0);
        // SAFETY: the nodes live in `_nodes`.
        pointers.iter().for_each(|&node| unsafe { wheel.insert(node, from + rng.below(width)) });
        let (mut late, mut longest) = (Vec::with_capacity(N), 0);
        while let Some(next) = wheel.next_event() {
            while now() < next {
                std::hint::spin_loop();
            }
            let start = now();
            // SAFETY: the chain is walked once.
            let chain = unsafe { wheel.advance(start) };
            let end = now();
            longest = longest.max(end - start);
            count(chain, |node| {
                // SAFETY: in the chain.
                late.push(end - unsafe { (*node).deadline });
            });
        }
        late.sort();
        let us = |i: usize| late[i] as f64 / 1e3;
        println!(
            "from {name}: late by {:.1} us (median), {:.1} (99 %), {:.1} (99.9 %), {:.1} (worst); longest advance {:.1} us",
            us(N / 2),
            us(N / 100 * 99),
            us(N / 1000 * 999),
            us(N - 1),
            longest as f64 / 1e3,
        );
    }
}
