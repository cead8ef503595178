//! Merging, and sorting by merging.

mod cut;
mod insert;
mod runs;
mod segment;

use super::{SERIAL, fork};
pub(super) use insert::{are_insertable, insert_short_ones};
pub(super) use runs::merge_runs;
use std::cmp::Ordering::{self, Less};

/// Merges two ranges that are sorted, `v[..mid]` and `v[mid..]`, in parallel and stably: of equal
/// elements, those of the first come first. See [`merge_by`].
///
/// # Blocking
/// Until they are merged.
///
/// # Panics
/// As [`merge_by`].
///
/// # Examples
/// ```
/// let mut v = vec![1, 4, 7];
/// let old = v.len();
/// v.extend([2, 4, 9]);
/// myriad::par::merge(&mut v, old);
/// assert_eq!(v, [1, 2, 4, 4, 7, 9]);
/// ```
pub fn merge<T: Ord + Send>(v: &mut [T], mid: usize) {
    merge_by(v, mid, T::cmp);
}

/// Merges two ranges that are sorted by a comparator, `v[..mid]` and `v[mid..]`, in parallel and
/// stably.
///
/// Looks for what is in its place already: appending a few late elements to a sorted slice costs
/// little. The rest needs memory for as many elements, or, if one range is much shorter, for that
/// one; where there is none, std's stable sort does it. If the ranges are not sorted, the result is
/// in some order.
///
/// # Blocking
/// Until they are merged. The comparator may block.
///
/// # Panics
/// If `mid` is greater than the length. If `cmp` panics, as [`sort_by`](super::sort_by): each
/// element stays in the slice exactly once.
///
/// # Cancellation
/// As [`sort_by`](super::sort_by).
///
/// # Examples
/// ```
/// let mut v = [9, 5, 1, 8, 4, 0];
/// myriad::par::merge_by(&mut v, 3, |a, b| b.cmp(a));
/// assert_eq!(v, [9, 8, 5, 4, 1, 0]);
/// ```
#[track_caller]
pub fn merge_by<T, F>(v: &mut [T], mid: usize, cmp: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let len = v.len();
    assert!(mid <= len, "the second range begins at {mid}, behind the end of the slice, which has {len} elements");
    if size_of::<T>() == 0 {
        return;
    }
    let (a, b) = v.split_at(mid);
    let (Some(last), Some(first)) = (a.last(), b.first()) else { return };
    if cmp(first, last) != Less {
        return;
    }
    // What is in its place already: the elements of `a` up to the first of `b`, and those of `b`
    // from the last of `a` on.
    let start = a.partition_point(|x| cmp(first, x) != Less);
    let end = mid + b.partition_point(|x| cmp(x, last) == Less);
    // (Of a comparator that lies, anything.)
    let v = &mut v[start.min(mid)..end.max(mid)];
    let mid = mid - start.min(mid);
    if v.len() < SERIAL {
        // Which finds the two runs.
        return v.sort_by(cmp);
    }
    fork::on_workers(|workers| {
        let mut starts = vec![0, mid];
        if !(insert_short_ones(v, &mut starts, &cmp, workers) && merge_runs(v, starts, &cmp, workers)) {
            v.sort_by(&cmp);
        }
    })
}

/// Merges two ranges that are sorted by a key, in parallel and stably. The key is computed for each
/// comparison. See [`merge_by`].
///
/// # Blocking
/// Until they are merged.
///
/// # Panics
/// As [`merge_by`].
///
/// # Examples
/// ```
/// let mut v = [(1, 'a'), (3, 'b'), (1, 'c'), (2, 'd')];
/// myriad::par::merge_by_key(&mut v, 2, |pair| pair.0);
/// assert_eq!(v, [(1, 'a'), (1, 'c'), (2, 'd'), (3, 'b')]);
/// ```
pub fn merge_by_key<T, K, F>(v: &mut [T], mid: usize, key: F)
where
    T: Send,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    merge_by(v, mid, |a, b| key(a).cmp(&key(b)));
}

/// Sorts the slice in parallel and stably, without sharing elements between workers: for elements
/// that are not `Sync`. See [`merge_sort_by`].
///
/// # Blocking
/// Until it is sorted.
///
/// # Panics
/// As [`merge_sort_by`].
///
/// # Examples
/// ```
/// use std::cell::Cell;
///
/// let mut v = vec![Cell::new(3), Cell::new(1), Cell::new(2)];
/// myriad::par::merge_sort(&mut v);
/// assert_eq!(v, [Cell::new(1), Cell::new(2), Cell::new(3)]);
/// ```
pub fn merge_sort<T: Ord + Send>(v: &mut [T]) {
    merge_sort_by(v, T::cmp);
}

/// Runs for each worker.
const RUNS: usize = 4;

/// Sorts the slice by a comparator, in parallel and stably, without sharing elements between
/// workers: they need not be `Sync`, like a `Box<dyn Trait + Send>`.
///
/// Each worker sorts some parts, which are then merged. It compares the least of all sorts here, so
/// it may be the fastest for comparisons that are costly; otherwise [`sort_by`](super::sort_by) is.
/// Needs memory for as many elements again.
///
/// # Blocking
/// Until it is sorted. The comparator may block.
///
/// # Panics
/// As [`sort_by`](super::sort_by): each element stays in the slice exactly once.
///
/// # Cancellation
/// As [`sort_by`](super::sort_by).
///
/// # Examples
/// ```
/// trait Shape {
///     fn area(&self) -> f64;
/// }
/// # struct Square(f64);
/// # impl Shape for Square {
/// #     fn area(&self) -> f64 {
/// #         self.0 * self.0
/// #     }
/// # }
/// let mut shapes: Vec<Box<dyn Shape + Send>> = vec![Box::new(Square(3.0)), Box::new(Square(2.0))];
/// myriad::par::merge_sort_by(&mut shapes, |a, b| a.area().total_cmp(&b.area()));
/// assert_eq!(shapes[0].area(), 4.0);
/// ```
pub fn merge_sort_by<T, F>(v: &mut [T], cmp: F)
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if v.len() < SERIAL || size_of::<T>() == 0 {
        return v.sort_by(cmp);
    }
    fork::on_workers(|workers| {
        if workers == 1 {
            return v.sort_by(&cmp);
        }
        // A power of four: then the last merge ends in the slice.
        let runs = 4_usize.pow((RUNS * workers).ilog2().div_ceil(2)).min(v.len() / (SERIAL / 4));
        let run = v.len().div_ceil(runs);
        let starts = (0..v.len()).step_by(run).collect();
        let mut parts: Vec<&mut [T]> = v.chunks_mut(run).collect();
        fork::each(&mut parts, &|part| part.sort_by(&cmp));
        if !merge_runs(v, starts, &cmp, workers) {
            v.sort_by(&cmp);
        }
    })
}

/// Sorts the slice by a key, in parallel and stably, without sharing elements between workers. The
/// key is computed for each comparison. See [`merge_sort_by`].
///
/// # Blocking
/// Until it is sorted.
///
/// # Panics
/// As [`merge_sort_by`].
///
/// # Examples
/// ```
/// let mut v = [(2, 'a'), (1, 'b'), (2, 'c')];
/// myriad::par::merge_sort_by_key(&mut v, |pair| pair.0);
/// assert_eq!(v, [(1, 'b'), (2, 'a'), (2, 'c')]);
/// ```
pub fn merge_sort_by_key<T, K, F>(v: &mut [T], key: F)
where
    T: Send,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    merge_sort_by(v, |a, b| key(a).cmp(&key(b)));
}
