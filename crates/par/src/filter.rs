//! A vector of those results that are wanted, in order.
//!
//! Each leaf makes a vector of its own, since nobody knows where it will stand. When all are there,
//! so are the slots, and they are moved together, in parallel.

use crate::loops::{Index, for_each_index, len};
use crate::map::WritePointer;
use crate::reduce::{leaf_size, tree};
use crate::unwind::after;
use std::ops::Range;

/// Clones of the elements for which `wanted` is true, in their order.
///
/// # Blocking
/// As [`filter_map_index`], over the elements' indices.
///
/// # Panics
/// As [`filter_map_index`].
///
/// # Cancellation
/// As [`filter_map_index`].
///
/// # Examples
/// ```
/// assert_eq!(myriad::par::filter(&[3, 1, 4, 1, 5], |x| *x > 2), [3, 4, 5]);
/// ```
#[track_caller]
pub fn filter<T: Clone + Send + Sync>(xs: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Vec<T> {
    let results = filter_map(xs, |x| wanted(x).then(|| x.clone()));
    after(wanted, results)
}

/// Calls `f` for each element, in parallel, and returns the results that are not `None`, in their
/// order.
///
/// # Blocking
/// As [`filter_map_index`], over the elements' indices.
///
/// # Panics
/// As [`filter_map_index`].
///
/// # Cancellation
/// As [`filter_map_index`].
///
/// # Examples
/// ```
/// let numbers = myriad::par::filter_map(&["1", "two", "3"], |text| text.parse::<u32>().ok());
/// assert_eq!(numbers, [1, 3]);
/// ```
#[track_caller]
pub fn filter_map<'a, T: Sync, R: Send>(xs: &'a [T], f: impl Fn(&'a T) -> Option<R> + Sync) -> Vec<R> {
    let results = filter_map_index(0..xs.len(), |i| f(&xs[i]));
    after(f, results)
}

/// Calls `f` for each number of the range, in parallel, and returns the results that are not
/// `None`, in their order.
///
/// Takes memory for the results twice, for a while.
///
/// # Blocking
/// Until all have ended; the caller takes part. `f` may block; it may wait for anything but a later
/// number.
///
/// # Panics
/// If `f` panics: no more parts begin, and when all have ended a panic goes on. Results until then
/// are dropped. As `Vec` does, if there is no memory.
///
/// # Cancellation
/// As [`for_each_index`]; results until then are dropped.
///
/// # Examples
/// ```
/// let is_prime = |n: u32| n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0);
/// let primes = myriad::par::filter_map_index(0..20, |n| is_prime(n).then_some(n));
/// assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19]);
/// ```
#[track_caller]
pub fn filter_map_index<I: Index, R: Send>(range: Range<I>, f: impl Fn(I) -> Option<R> + Sync) -> Vec<R> {
    let size = leaf_size(len(&range));
    by_leaves(range, size, f)
}

/// The same, by leaves of this size.
#[track_caller]
pub(crate) fn by_leaves<I, R>(range: Range<I>, size: usize, f: impl Fn(I) -> Option<R> + Sync) -> Vec<R>
where
    I: Index,
    R: Send,
{
    let n = len(&range);
    if n == 0 {
        return Vec::new();
    }
    let leaf = |number: usize| {
        let from = number * size;
        let to = from + size.min(n - from);
        let kept: Vec<R> = (from..to).filter_map(|i| f(I::at(range.start, i))).collect();
        if kept.is_empty() { Vec::new() } else { vec![kept] }
    };
    let append = |mut left: Vec<Vec<R>>, mut right: Vec<Vec<R>>| {
        left.append(&mut right);
        left
    };
    let results = together(tree(n.div_ceil(size), &leaf, &append));
    after(f, results)
}

/// Moves all into one vector.
fn together<R: Send>(mut parts: Vec<Vec<R>>) -> Vec<R> {
    if parts.len() <= 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut all: Vec<R> = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    let mut end = 0;
    let from: Vec<(WritePointer<R>, usize, usize)> = parts
        .iter_mut()
        .map(|part| {
            end += part.len();
            (WritePointer(part.as_mut_ptr()), part.len(), end - part.len())
        })
        .collect();
    let to = WritePointer(all.as_mut_ptr());
    // If this is cancelled between two parts, all are still where they were, and `all` is empty.
    for_each_index(0..from.len(), |i| {
        let (part, len, at) = &from[i];
        // SAFETY: so many are there; their slots in the new memory, which is large enough, are
        // theirs alone.
        unsafe { part.add(0).copy_to_nonoverlapping(to.add(*at), *len) };
    });
    for part in &mut parts {
        // SAFETY: all elements have been moved out.
        unsafe { part.set_len(0) };
    }
    // SAFETY: all slots up to here have been written.
    unsafe { all.set_len(end) };
    all
}
