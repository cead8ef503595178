//! A vector of results, in order.

use crate::fallible::Failure;
use crate::loops::{Index, len};
use crate::reduce::{leaf_size, tree};
use crate::unwind::after;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;

/// Calls `f` for each element, in parallel, and returns the results in their order.
///
/// # Blocking
/// As [`map_index`], over the elements' indices.
///
/// # Panics
/// As [`map_index`], over the elements' indices.
///
/// # Cancellation
/// As [`map_index`], over the elements' indices.
///
/// # Examples
/// ```
/// let lines = ["a b", "c"].map(String::from);
/// let words = myriad::par::map(&lines, |line| line.split(' ').collect::<Vec<&str>>()); // they borrow
/// assert_eq!(words, [vec!["a", "b"], vec!["c"]]);
/// ```
#[doc(alias = "par_iter")]
#[track_caller]
pub fn map<'a, T: Sync, R: Send>(xs: &'a [T], f: impl Fn(&'a T) -> R + Sync) -> Vec<R> {
    let results = map_index(0..xs.len(), |i| f(&xs[i]));
    after(f, results)
}

/// Calls `f` for each number of the range, in parallel, and returns the results in their order.
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
/// As [`for_each_index`](crate::for_each_index); results until then are dropped.
///
/// # Examples
/// ```
/// assert_eq!(myriad::par::map_index(1..5_u64, |i| i * i), [1, 4, 9, 16]);
/// ```
#[doc(alias = "into_par_iter")]
#[track_caller]
pub fn map_index<I: Index, R: Send>(range: Range<I>, f: impl Fn(I) -> R + Sync) -> Vec<R> {
    let size = leaf_size(len(&range));
    by_leaves(range, size, f)
}

/// The same, by leaves of this size.
#[track_caller]
pub(crate) fn by_leaves<I: Index, R: Send>(range: Range<I>, size: usize, f: impl Fn(I) -> R + Sync) -> Vec<R> {
    let results = try_by_leaves(range, size, |i| Ok::<R, Infallible>(f(i)));
    after(f, results.unwrap_or_else(|never| match never {}))
}

/// The same, of what may fail: the error of the lowest number that does. Leaves behind that one are
/// not begun.
#[track_caller]
pub(crate) fn try_by_leaves<I: Index, R: Send, E: Send>(
    range: Range<I>,
    size: usize,
    f: impl Fn(I) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let n = len(&range);
    let mut results: Vec<R> = Vec::with_capacity(n);
    if n == 0 {
        return Ok(results);
    }
    let failure = Failure::default();
    let first = WritePointer(results.as_mut_ptr());
    let leaf = |number: usize| {
        let from = number * size;
        let to = from + size.min(n - from);
        if failure.is_at_or_before(from) {
            return None;
        }
        // SAFETY: `from` is below the capacity.
        let mut run = FilledRun { first: unsafe { first.add(from) }, len: 0, owns: PhantomData };
        for i in from..to {
            match f(I::at(range.start, i)) {
                // SAFETY: a slot of the vector's memory that only this leaf writes, once.
                Ok(result) => unsafe { run.first.add(run.len).write(result) },
                Err(error) => {
                    failure.note(i, error);
                    return None;
                }
            }
            run.len += 1;
        }
        Some(run)
    };
    // (Where one has failed, the run of the other is dropped.)
    let both = |a: Option<FilledRun<R>>, b: Option<FilledRun<R>>| Some(a?.append(b?));
    let all = tree(n.div_ceil(size), &leaf, &both);
    let Some(all) = all else {
        let (_, error) = failure.into_first().expect("a leaf without a run has failed, or stands behind one that has");
        return after((f, results), Err(error));
    };
    debug_assert!(all.len == n);
    std::mem::forget(all);
    // SAFETY: all are written: the runs of all leaves, one after the other, and nobody drops them
    // any more.
    unsafe { results.set_len(n) };
    after(f, Ok(results))
}

/// Where results go, or stand.
pub(crate) struct WritePointer<R>(pub(crate) *mut R);

// SAFETY: each slot is written by one leaf alone; results go to the caller's thread, which
// `R: Send` allows.
unsafe impl<R: Send> Sync for WritePointer<R> {}

impl<R> WritePointer<R> {
    /// # Safety
    /// `i` slots behind this one are within the allocation, or one behind its end.
    pub(crate) unsafe fn add(&self, i: usize) -> *mut R {
        // SAFETY: `i` slots behind this one are within the allocation (this function's contract).
        unsafe { self.0.add(i) }
    }
}

/// Owns results that lie one after the other: if a part panics, those of all parts are dropped.
struct FilledRun<R> {
    first: *mut R,
    len: usize,
    owns: PhantomData<R>,
}

// SAFETY: it owns its results.
unsafe impl<R: Send> Send for FilledRun<R> {}

impl<R> FilledRun<R> {
    /// The next one lies behind this one.
    fn append(mut self, next: FilledRun<R>) -> FilledRun<R> {
        debug_assert!(size_of::<R>() == 0 || std::ptr::eq(self.first.wrapping_add(self.len), next.first));
        self.len += next.len;
        std::mem::forget(next);
        self
    }
}

impl<R> Drop for FilledRun<R> {
    fn drop(&mut self) {
        // SAFETY: the first `len` are written, and ours.
        unsafe { std::ptr::slice_from_raw_parts_mut(self.first, self.len).drop_in_place() };
    }
}
