//! The unstable sorts.

use super::merge::{are_insertable, insert_short_ones};
use super::presorted::{self, Run, Shape};
use super::{SERIAL, fork, quick};
use std::cmp::Ordering;

/// Sorts the slice in parallel and in place; equal elements may change their order. See
/// [`sort_unstable_by`].
///
/// # Blocking
/// Until it is sorted.
///
/// # Panics
/// As [`sort_unstable_by`].
///
/// # Examples
/// ```
/// let mut v = vec![5, 4, 1, 3, 2];
/// myriad::par::sort_unstable(&mut v);
/// assert_eq!(v, [1, 2, 3, 4, 5]);
/// ```
#[doc(alias = "par_sort_unstable")]
pub fn sort_unstable<T: Ord + Send + Sync>(v: &mut [T]) {
    sort_unstable_by(v, T::cmp);
}

/// Sorts the slice by a comparator, in parallel and in place; equal elements may change their
/// order, and with the number of workers.
///
/// Needs no memory that grows with the slice; only where a slice is in order but for a short part,
/// that part is sorted and inserted, by way of memory for it (if there is any). Compares `n log n`
/// times, also at worst. For integers this is the fastest sort here, for floats
/// [`sort_floats`](super::sort_floats); records with a small key are often sorted faster by
/// [`sort_by`](super::sort_by).
///
/// # Blocking
/// Until it is sorted. The caller takes part, if it is a task. The comparator may block: its part
/// of the sort waits, others go on.
///
/// # Panics
/// If `cmp` panics, all parts of the sort come to an end, then the panic goes on. It may panic if
/// `cmp` is no total order. Whatever `cmp` does, each element is in the slice exactly once
/// afterwards, in some order.
///
/// # Cancellation
/// Arrives where `cmp` blocks, and where the sort waits for other workers. Then the same holds as
/// for a panic.
///
/// # Examples
/// ```
/// let mut v: Vec<u64> = (0..100_000).map(|i| i * 7919 % 100_003).collect();
/// myriad::par::sort_unstable_by(&mut v, |a, b| b.cmp(a));
/// assert!(v.is_sorted_by(|a, b| a >= b));
/// ```
pub fn sort_unstable_by<T, F>(v: &mut [T], cmp: F)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if v.len() < SERIAL || size_of::<T>() == 0 {
        return v.sort_unstable_by(cmp);
    }
    fork::on_workers(|workers| by(v, &cmp, workers));
}

/// The sort, on a worker.
pub(super) fn by<T, F>(v: &mut [T], cmp: &F, workers: usize)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if v.len() < SERIAL {
        return v.sort_unstable_by(cmp);
    }
    match presorted::detect(v, cmp, workers) {
        Shape::Sorted => {}
        Shape::Reversed => v.reverse(),
        Shape::Runs(runs) if by_insertion(v, &runs, cmp, workers) => {}
        _ if workers == 1 => v.sort_unstable_by(cmp),
        _ => quick::sort(v, cmp, workers),
    }
}

/// Inserts the short runs into the long ones. False: these are not that much longer, or there is no
/// memory for a short one.
pub(super) fn by_insertion<T, F>(v: &mut [T], runs: &[Run], cmp: &F, workers: usize) -> bool
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let starts: Vec<usize> = runs.iter().map(|run| run.start).collect();
    if !are_insertable(&starts, v.len(), workers) {
        return false;
    }
    let mut starts = presorted::put_in_order(v, runs, |run| by(run, cmp, workers));
    insert_short_ones(v, &mut starts, cmp, workers)
}

/// Sorts the slice by a key, in parallel and in place; elements of equal keys may change their
/// order. The key is computed for each comparison.
///
/// # Blocking
/// Until it is sorted, as [`sort_unstable_by`].
///
/// # Panics
/// As [`sort_unstable_by`], for the key as for its comparison.
///
/// # Examples
/// ```
/// let mut v = [-5_i32, 4, 1, -3, 2];
/// myriad::par::sort_unstable_by_key(&mut v, |x| x.abs());
/// assert_eq!(v, [1, 2, -3, 4, -5]);
/// ```
pub fn sort_unstable_by_key<T, K, F>(v: &mut [T], key: F)
where
    T: Send + Sync,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    sort_unstable_by(v, |a, b| key(a).cmp(&key(b)));
}
