//! What the tests of the sorts share: elements, inputs, and the sorts that take a comparator.

#![allow(dead_code)] // each test binary uses its part

use crate::common::{Rng, full_length};
use myriad::par;
use std::cmp::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// Long enough not to be left to std, with some parts that do not come out even.
pub(crate) const LONG: usize = 40_009;

/// A key, and where it stood.
pub(crate) type Item = (u32, u32);

pub(crate) type Cmp<'a, T> = &'a (dyn Fn(&T, &T) -> Ordering + Sync);
pub(crate) type Sort<T> = fn(&mut [T], Cmp<'_, T>);

/// The sorts that take a comparator, and whether they are stable.
pub(crate) fn sorts<T: Send + Sync>() -> [(&'static str, bool, Sort<T>); 3] {
    [
        ("sort_by", true, |v, cmp| par::sort_by(v, cmp)),
        ("merge_sort_by", true, |v, cmp| par::merge_sort_by(v, cmp)),
        ("sort_unstable_by", false, |v, cmp| par::sort_unstable_by(v, cmp)),
    ]
}

/// Numbers of workers. At full length, alone and with more workers than processors as well.
pub(crate) fn workers() -> &'static [usize] {
    if full_length() { &[1, 2, 4] } else { &[2] }
}

pub(crate) const PATTERNS: usize = 13;

/// Keys in some pattern.
pub(crate) fn keys(pattern: usize, n: usize, rng: &mut Rng) -> Vec<u32> {
    let up = |n: usize| (0..n as u32).collect::<Vec<_>>();
    match pattern {
        0 => (0..n).map(|_| rng.next() as u32).collect(),
        1 => (0..n).map(|_| rng.below(16) as u32).collect(),
        2 => (0..n).map(|_| rng.below(2) as u32).collect(),
        3 => vec![7; n],
        4 => up(n),
        5 => up(n).into_iter().rev().collect(),
        // 1 % out of place.
        6 => {
            let mut v = up(n);
            for _ in 0..n / 200 {
                v.swap(rng.below(n as u64) as usize, rng.below(n as u64) as usize);
            }
            v
        }
        // Some runs.
        7 => {
            let run = 1 + n / (1 + rng.below(20) as usize);
            (0..n).map(|i| (i % run) as u32).collect()
        }
        // Up and down.
        8 => (0..n).map(|i| i.min(n - i) as u32).collect(),
        // Nearly all the same.
        9 => (0..n).map(|_| if rng.below(20) == 0 { rng.next() as u32 } else { 1 << 31 }).collect(),
        // Skewed: half of them below 2, a quarter below 4 ...
        10 => (0..n).map(|_| (rng.next() as u32) >> rng.below(32)).collect(),
        // Sorted but for the end.
        11 => {
            let mut v = up(n);
            let tail = n.min(10);
            v[n - tail..].iter_mut().for_each(|x| *x = rng.below(n as u64) as u32);
            v
        }
        // Sorted but for some parts, of up to a fiftieth each, anywhere.
        12 => {
            let mut v = up(n);
            for _ in 0..1 + rng.below(3) {
                let length = rng.below(1 + n as u64 / 50) as usize;
                let start = [0, n - length, rng.below(1 + (n - length) as u64) as usize][rng.below(3) as usize];
                v[start..start + length].iter_mut().for_each(|x| *x = rng.below(n as u64) as u32);
            }
            v
        }
        _ => unreachable!("there are {PATTERNS} patterns"),
    }
}

/// Elements of these keys that know where they stood.
pub(crate) fn items(keys: &[u32]) -> Vec<Item> {
    keys.iter().zip(0..).map(|(&key, i)| (key, i)).collect()
}

pub(crate) fn by_key(a: &Item, b: &Item) -> Ordering {
    a.0.cmp(&b.0)
}

/// `MYRIAD_TEST_SEED` repeats a run.
pub(crate) fn seed() -> u64 {
    let seed = match std::env::var("MYRIAD_TEST_SEED") {
        Ok(seed) => seed.parse().expect("MYRIAD_TEST_SEED must be a number"),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64,
    };
    println!("MYRIAD_TEST_SEED={seed}");
    seed
}
