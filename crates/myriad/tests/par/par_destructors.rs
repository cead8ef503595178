//! Destructors of elements that wait, in a region that is cancelled: each element is dropped once,
//! whichever of them the cancellation meets.
//!
//! The closures here drop their arguments before their result is returned, or return one of them.
//! For a closure that does not, as `|a, b| Sum::new(a.0 + b.0)`, the compiler itself leaks the
//! result if an argument's destructor unwinds (<https://github.com/rust-lang/rust/issues/47949>).

use crate::common::{each, full_length};
use myriad::cancel::Token;
use myriad::par;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::*};

/// Counts elements, and cancels the region when so many have been dropped.
struct Count {
    alive: AtomicI64,
    made: AtomicUsize,
    drops: AtomicUsize,
    cancel_at: usize,
    token: Token,
}

impl Count {
    fn new(cancel_at: usize) -> Count {
        let (alive, made, drops) = (AtomicI64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        Count { alive, made, drops, cancel_at, token: Token::new() }
    }

    fn element(&self, value: u64) -> Element<'_> {
        self.alive.fetch_add(1, Relaxed);
        self.made.fetch_add(1, Relaxed);
        Element { value, count: self }
    }
}

/// Its destructor waits.
struct Element<'a> {
    value: u64,
    count: &'a Count,
}

impl Clone for Element<'_> {
    fn clone(&self) -> Self {
        self.count.element(self.value)
    }
}

impl Drop for Element<'_> {
    fn drop(&mut self) {
        // First: what comes behind it may be left by unwinding.
        self.count.alive.fetch_sub(1, Relaxed);
        if self.count.drops.fetch_add(1, Relaxed) == self.count.cancel_at {
            self.count.token.cancel();
        }
        if !std::thread::panicking() {
            myriad::yield_now();
        }
    }
}

impl PartialEq for Element<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl Eq for Element<'_> {}
impl PartialOrd for Element<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Element<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.value.cmp(&other.value)
    }
}

/// One keeps the left one, the other makes a new one; see the header.
fn into_left<'a>(mut a: Element<'a>, b: Element<'a>) -> Element<'a> {
    a.value = a.value.wrapping_add(b.value);
    drop(b);
    a
}

fn into_new<'a>(a: Element<'a>, b: Element<'a>) -> Element<'a> {
    let sum = a.count.element(a.value.wrapping_add(b.value));
    drop(a);
    drop(b);
    sum
}

fn sum<'a>(a: &Element<'a>, b: &Element<'a>) -> Element<'a> {
    a.count.element(a.value.wrapping_add(b.value))
}

/// What a closure has captured is dropped at the end, too.
fn captured<'a>(c: &'a Count) -> impl Fn() -> &'a Count + Sync {
    let captured = c.element(0);
    move || {
        // (All of it, and not the field alone.)
        let captured = &captured;
        captured.count
    }
}

type Case = (&'static str, fn(&Count, usize));

/// Some that have to do with elements that `par` itself owns.
const CASES: [Case; 23] = [
    ("map_reduce_index, left", |c, n| {
        drop(par::map_reduce_index(0..n, |i| c.element(i as u64), c.element(0), into_left))
    }),
    ("map_reduce_index, new", |c, n| {
        drop(par::map_reduce_index(0..n, |i| c.element(i as u64), c.element(0), into_new))
    }),
    ("map_reduce, a grain", |c, n| {
        drop(par::Loop::new(0..n).grain(1).map_reduce(|i| c.element(i as u64), c.element(0), into_new));
    }),
    ("reduce", |c, n| drop(par::reduce(&elements(c, n), c.element(0), into_new))),
    ("scan_inclusive", |c, n| par::scan_inclusive(&mut elements(c, n), sum)),
    ("scan_exclusive", |c, n| drop(par::scan_exclusive(&mut elements(c, n), c.element(0), sum))),
    ("scan_inclusive_to", |c, n| par::scan_inclusive_to(&elements(c, n), &mut elements(c, n), sum)),
    ("scan_exclusive_to", |c, n| drop(par::scan_exclusive_to(&elements(c, n), &mut elements(c, n), c.element(0), sum))),
    ("map_reduce_index, captures", |c, n| {
        let (f, op) = (captured(c), captured(c));
        let op = move |a, b| (op(), into_new(a, b)).1;
        drop(par::map_reduce_index(0..n, move |i| f().element(i as u64), c.element(0), op));
    }),
    ("map_reduce_index of none, captures", |c, _| {
        let op = captured(c);
        drop(par::map_reduce_index(0..0, |_| c.element(0), c.element(0), move |a, b| (op(), into_new(a, b)).1));
    }),
    ("reduce, captures", |c, n| {
        let op = captured(c);
        drop(par::reduce(&elements(c, n), c.element(0), move |a, b| (op(), into_new(a, b)).1));
    }),
    ("scan_exclusive, captures", |c, n| {
        let op = captured(c);
        drop(par::scan_exclusive(&mut elements(c, n), c.element(0), move |a, b| (op(), sum(a, b)).1));
    }),
    ("map_index, captures", |c, n| {
        let f = captured(c);
        drop(par::map_index(0..n, move |i| f().element(i as u64)));
    }),
    ("map, captures", |c, n| {
        let f = captured(c);
        drop(par::map(&elements(c, n), move |x| f().element(x.value)));
    }),
    ("filter, captures", |c, n| {
        let f = captured(c);
        drop(par::filter(&elements(c, n), move |x| (f(), x.value % 3 > 0).1));
    }),
    ("filter_map, captures", |c, n| {
        let f = captured(c);
        drop(par::filter_map(&elements(c, n), move |x| Some(f().element(x.value))));
    }),
    ("map_index", |c, n| drop(par::map_index(0..n, |i| c.element(i as u64)))),
    ("filter_map_index", |c, n| drop(par::filter_map_index(0..n, |i| (i % 3 > 0).then(|| c.element(i as u64))))),
    ("filter", |c, n| drop(par::filter(&elements(c, n), |x| x.value % 3 > 0))),
    ("for_each_bridge", |c, n| par::for_each_bridge(elements(c, n), drop)),
    ("for_each_mut", |c, n| par::for_each_mut(&mut elements(c, n), |x| *x = c.element(1))),
    ("sort_by_cached_key", |c, n| {
        par::sort_by_cached_key(&mut elements(c, n), |x| c.element(x.value.wrapping_mul(0x9e37_79b9)))
    }),
    ("merge_sort_by_key", |c, n| par::merge_sort_by_key(&mut elements(c, n), |x| c.element(x.value ^ 21))),
];

fn elements(c: &Count, n: usize) -> Vec<Element<'_>> {
    (0..n as u64).map(|i| c.element(i)).collect()
}

/// How many there are of a case that is not cancelled: the places where a cancellation may meet a
/// destructor.
fn drops_of(call: fn(&Count, usize), n: usize) -> usize {
    let count = Count::new(usize::MAX);
    call(&count, n);
    assert_eq!(count.alive.load(Relaxed), 0);
    count.drops.load(Relaxed)
}

fn case(call: fn(&Count, usize), n: usize, cancel_at: usize) -> i64 {
    let count = Count::new(cancel_at);
    let ended = count.token.run(|| call(&count, n));
    _ = ended;
    count.alive.load(Relaxed)
}

#[test]
fn each_element_is_dropped_once() {
    each(&[1, 2], |rt| {
        let lost = Mutex::new(Vec::new());
        rt.run(|| {
            for (name, call) in CASES {
                // (A few lengths about the limits below which nothing is done in parallel.)
                for n in [3, 40, 600, 1500] {
                    let drops = drops_of(call, n);
                    let step = (drops / if full_length() { 25 } else { 8 }).max(1);
                    for at in (0..drops).step_by(step).chain(drops.saturating_sub(3)..drops) {
                        let alive = case(call, n, at);
                        if alive != 0 {
                            lost.lock()
                                .unwrap()
                                .push(format!("{name}, {n} elements, cancelled at {at} of {drops}: {alive} left"));
                        }
                    }
                }
            }
        });
        let lost = lost.into_inner().unwrap();
        assert!(lost.is_empty(), "{} cases:\n{}", lost.len(), lost[..lost.len().min(40)].join("\n"));
    });
}
