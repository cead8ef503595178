//! The stable sorts.

use super::merge::{insert_short_ones, merge_runs};
use super::presorted::{self, Run, Shape};
use super::{SERIAL, few, fork, permute, sample};
use std::cmp::Ordering;

/// Sorts the slice, in parallel and stably: equal elements keep their order.
///
/// As std's `sort`, on the workers of the caller's pool; of a foreign thread, of the global
/// runtime. See [`sort_by`].
///
/// # Blocking
/// Until it is sorted.
///
/// # Panics
/// As [`sort_by`].
///
/// # Examples
/// ```
/// let mut v = vec!["pear", "fig", "apple"];
/// myriad::par::sort(&mut v);
/// assert_eq!(v, ["apple", "fig", "pear"]);
/// ```
#[doc(alias = "par_sort")]
pub fn sort<T: Ord + Send + Sync>(v: &mut [T]) {
    sort_by(v, T::cmp);
}

/// Sorts the slice by a comparator, in parallel and stably: equal elements keep their order.
///
/// Needs memory for as many elements again, and two bytes each; where there is none, std's serial
/// sort, which needs half of that, does it. In order, in the opposite order, or of few runs that
/// are in order, the slice is only looked at, turned around, or merged; also if at most an eighth
/// of it, in a few places, is in no order: that is sorted first. Compares `n log n` times; the
/// element type is `Sync` because workers compare with elements that they share. For elements that
/// are not there is [`merge_sort_by`](super::merge_sort_by).
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
/// let mut v: Vec<f64> = (0..100_000).map(|i| f64::from(i * 7919 % 100_003)).collect();
/// myriad::par::sort_by(&mut v, |a, b| b.total_cmp(a));
/// assert!(v.is_sorted_by(|a, b| a >= b));
/// ```
pub fn sort_by<T, F>(v: &mut [T], cmp: F)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if v.len() < SERIAL || size_of::<T>() == 0 {
        return v.sort_by(cmp);
    }
    fork::on_workers(|workers| by(v, &cmp, workers));
}

/// Sorts the slice by a key, in parallel and stably. The key is computed for each comparison: if
/// that is costly, see [`sort_by_cached_key`](super::sort_by_cached_key).
///
/// # Blocking
/// Until it is sorted, as [`sort_by`].
///
/// # Panics
/// As [`sort_by`], for the key as for its comparison.
///
/// # Examples
/// ```
/// let mut v = vec![(2, 'a'), (1, 'b'), (2, 'c'), (1, 'd')];
/// myriad::par::sort_by_key(&mut v, |pair| pair.0);
/// assert_eq!(v, [(1, 'b'), (1, 'd'), (2, 'a'), (2, 'c')]);
/// ```
pub fn sort_by_key<T, K, F>(v: &mut [T], key: F)
where
    T: Send + Sync,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    sort_by(v, |a, b| key(a).cmp(&key(b)));
}

/// Larger elements than this, in bytes, move only once: what is sorted are references to them.
const LARGE: usize = 128;

/// Elements up to so many bytes are small: what a sort of them costs is the comparisons.
const SMALL: usize = 16;
/// Up to so many bytes of small elements, one worker is done with them soonest by std's sort of the
/// whole. (Of larger ones it moves more: 50 ns for each of 1,000,000 records of 32 bytes, and 70 by
/// std.)
const CACHED: usize = 16 << 20;
/// Up to so many small elements, so are several workers, if there are few values: std's sort splits
/// off all that equal a pivot.
const FEW_VALUES: usize = 1 << 18;

/// The sort, on a worker.
pub(super) fn by<T, F>(v: &mut [T], cmp: &F, workers: usize)
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let is_small = size_of::<T>() <= SMALL;
    if v.len() < SERIAL || (is_small && workers == 1 && size_of_val(v) <= CACHED) {
        return v.sort_by(cmp);
    }
    let sorted = match presorted::detect(v, cmp, workers) {
        Shape::Sorted => true,
        Shape::Reversed => {
            v.reverse();
            true
        }
        Shape::Runs(runs) if size_of::<T>() <= LARGE => by_runs(v, &runs, cmp, workers),
        _ if is_small && v.len() <= FEW_VALUES && few::are_few_values(v, cmp) => false,
        _ if size_of::<T>() <= LARGE => sample::sort(v, cmp, workers),
        _ => by_reference(v, cmp, workers),
    };
    if !sorted {
        // Best left to std, or no memory for us; perhaps std needs less.
        v.sort_by(cmp);
    }
}

/// Sorts the runs that are not in order, then merges all. False: there is no memory for it.
fn by_runs<T, F>(v: &mut [T], runs: &[Run], cmp: &F, workers: usize) -> bool
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let mut starts = presorted::put_in_order(v, runs, |run| by(run, cmp, workers));
    insert_short_ones(v, &mut starts, cmp, workers) && merge_runs(v, starts, cmp, workers)
}

/// Sorts references, then moves each element once to the buffer and once back. False: there is no
/// memory for it.
fn by_reference<T, F>(v: &mut [T], cmp: &F, workers: usize) -> bool
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let len = v.len();
    let slice = v.as_mut_ptr();
    // SAFETY: the same elements again; `v` is not used while `elements` is.
    let elements: &[T] = unsafe { std::slice::from_raw_parts(slice, len) };
    let mut order = Vec::new();
    if order.try_reserve_exact(len).is_err() {
        return false;
    }
    order.extend(elements);
    let by_target = |a: &&T, b: &&T| cmp(a, b);
    if !sample::sort(&mut order, &by_target, workers) {
        order.sort_by(by_target);
    }
    // SAFETY: a sort leaves each reference in the vector once, whatever `cmp` answers.
    unsafe { permute::permute(slice, len, &|i| std::ptr::from_ref(order[i]), workers) }
}
