//! Unstable sort in place: quicksort with parallel partitions, and std's unstable sort for the
//! parts.
//!
//! ```text
//!   |                    v                   |    pivot: the middle of a sample, at the front
//!   | <: worker 1  >= | <: worker 2     >=   |    both partition a half
//!   |       <         |p|        >=          |    what is in the wrong half changes places; then both sides, by `join`
//! ```
//! *Equal elements:* a pivot that is not greater than the pivot to whose right it lies equals it.
//! Then all that equal it are split off, and are done. (As in pdqsort, Peters 2021. Without it, 16
//! values in 20,000,000 elements took 9.7 s instead of 0.1 s.)
//!
//! *Bad pivots:* a sample of 257 seldom has a middle outside of the middle three quarters. After
//! `2 log n` such pivots on one path, std's sort gets the rest; its worst case is `n log n`.
//!
//! **Rejected.** *Sample sort* as for the stable sort: as fast, and needs memory for all elements.

use super::Random;
use super::partition;
use myriad_core::join;
use std::cmp::Ordering::{self, Less};

/// Elements that a pivot is the middle of.
const SAMPLE: usize = 257;
/// The same, of parts that are small.
const SMALL_SAMPLE: usize = 33;

/// Leaves for each worker, if they are even: fewer, and one waits for the other's last.
const LEAVES: usize = 32;

/// What all parts of a sort share.
struct Sort<'a, F, L> {
    cmp: &'a F,
    /// Sorts a leaf,
    sort_leaf: &'a L,
    /// of so many elements.
    leaf: usize,
    /// So many are partitioned by one worker.
    share: usize,
}

/// Sorts the slice in place.
pub(super) fn sort<T, F>(v: &mut [T], cmp: &F, workers: usize)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    by_leaves(v, cmp, &|leaf: &mut [T]| leaf.sort_unstable_by(cmp), usize::MAX, workers);
}

/// The same, where `sort_leaf` sorts leaves of up to `most` elements, or seldom more.
pub(super) fn by_leaves<T, F, L>(v: &mut [T], cmp: &F, sort_leaf: &L, most: usize, workers: usize)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
    L: Fn(&mut [T]) + Sync,
{
    let leaf = (v.len() / (LEAVES * workers)).clamp(1 << 12, most);
    // A quarter more than a fair share: a pivot is seldom the very middle.
    let share = (v.len() / workers).max(1 << 14) / 4 * 5;
    let bad = 2 * v.len().checked_ilog2().unwrap_or(0);
    go(v, None, bad, &Sort { cmp, sort_leaf, leaf, share });
}

/// `before`: the pivot to whose right `v` lies. `bad`: so many more bad pivots are allowed.
fn go<'a, T, F, L>(mut v: &'a mut [T], mut before: Option<&'a T>, mut bad: u32, sort: &Sort<'_, F, L>)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
    L: Fn(&mut [T]) + Sync,
{
    let cmp = sort.cmp;
    while v.len() > sort.leaf && bad > 0 {
        let at = pivot(v, cmp, if v.len() > 8 * sort.leaf { SAMPLE } else { SMALL_SAMPLE });
        v.swap(0, at);
        let (pivot, rest) = v.split_first_mut().expect("longer than a leaf");
        let pivot = &*pivot;
        if before.is_some_and(|before| cmp(before, pivot) != Less) {
            let equal = partition::parallel(rest, pivot, &|x, pivot| cmp(pivot, x) != Less, sort.share);
            v = &mut v[1 + equal..];
            before = None;
            continue;
        }
        let less = partition::parallel(rest, pivot, &|x, pivot| cmp(x, pivot) == Less, sort.share);
        v.swap(0, less);
        let (left, right) = v.split_at_mut(less);
        let (pivot, right) = right.split_first_mut().expect("the pivot");
        let pivot = &*pivot;
        bad -= u32::from(left.len().min(right.len()) < (left.len() + right.len()) / 8);
        join(|| go(left, before, bad, sort), || go(right, Some(pivot), bad, sort));
        return;
    }
    (sort.sort_leaf)(v);
}

/// The position of the middle one of a sample.
fn pivot<T>(v: &[T], cmp: &impl Fn(&T, &T) -> Ordering, sample: usize) -> usize {
    let mut random = Random::new(v.len());
    let mut sample: Vec<usize> = (0..sample).map(|_| random.below(v.len())).collect();
    let mid = sample.len() / 2;
    *sample.select_nth_unstable_by(mid, |&a, &b| cmp(&v[a], &v[b])).1
}
