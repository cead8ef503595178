//! Reductions: one result of many values, by a fixed tree.
//!
//! What is added to what depends on the length alone, never on workers or time: so results are the
//! same bits on each run, also where the operator is associative only by and large, as with floats.

mod sum;
mod tree;

pub use sum::sum;
pub(crate) use tree::tree;

use crate::loops::{Index, len};
use crate::unwind::after;
use std::ops::Range;

/// A leaf has at most so many values, ...
const MOST: usize = 4096;
/// ... and fewer if there would be fewer leaves than this.
const LEAVES: usize = 512;

/// How many values a leaf has. By their number alone: the tree's shape is part of the result.
pub(crate) fn leaf_size(len: usize) -> usize {
    (len / LEAVES).clamp(1, MOST)
}

/// Combines clones of all elements with an associative operator, in their order; `id` for an empty
/// slice.
///
/// The operator need not be commutative. What it is applied to depends on the slice's length alone,
/// so that the result is the same, to the bit, on each run and with any number of workers, also for
/// floats.
///
/// # Blocking
/// Until the result is there, and all parts have ended; as the operator does.
///
/// # Panics
/// If the operator panics: no more parts begin, and when all have ended a panic goes on.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index).
///
/// # Examples
/// ```
/// let longest = myriad::par::reduce(&["a", "ccc", "bb"], "", |a, b| if b.len() > a.len() { b } else { a });
/// assert_eq!(longest, "ccc");
/// ```
#[doc(alias = "fold")]
#[track_caller]
pub fn reduce<T>(xs: &[T], id: T, op: impl Fn(T, T) -> T + Sync) -> T
where
    T: Clone + Send + Sync,
{
    let n = xs.len();
    if n == 0 {
        return after(op, id);
    }
    let size = leaf_size(n);
    let leaf = |number: usize| {
        let from = number * size;
        fold(xs[from..from + size.min(n - from)].iter().cloned(), &op)
    };
    let value = tree(n.div_ceil(size), &leaf, &op);
    after((op, id), value)
}

/// Combines `f` of each number of the range with an associative operator, in their order; `id` for
/// an empty range.
///
/// A value for each number is made, and combined at once: nothing is stored. As [`reduce`], the
/// operator need not be commutative, and the result does not depend on workers or time.
///
/// # Blocking
/// Until the result is there, and all parts have ended; as `f` and the operator do.
///
/// # Panics
/// If `f` or the operator panics: no more parts begin, and when all have ended a panic goes on.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index).
///
/// # Examples
/// ```
/// // Wallis: pi / 2 = (2/1 * 2/3) * (4/3 * 4/5) * ...
/// let factor = |i: u32| { let x = f64::from(2 * i + 2).powi(2); x / (x - 1.0) };
/// let half = myriad::par::map_reduce_index(0..1_000_000, factor, 1.0, |a, b| a * b);
/// assert!((half * 2.0 - std::f64::consts::PI).abs() < 1e-5);
/// ```
#[doc(alias = "zip")]
#[track_caller]
pub fn map_reduce_index<I, T>(range: Range<I>, f: impl Fn(I) -> T + Sync, id: T, op: impl Fn(T, T) -> T + Sync) -> T
where
    I: Index,
    T: Send,
{
    let size = leaf_size(len(&range));
    by_leaves(range, size, f, id, op)
}

/// The same, by leaves of this size.
#[track_caller]
pub(crate) fn by_leaves<I, T>(
    range: Range<I>,
    size: usize,
    f: impl Fn(I) -> T + Sync,
    id: T,
    op: impl Fn(T, T) -> T + Sync,
) -> T
where
    I: Index,
    T: Send,
{
    let n = len(&range);
    if n == 0 {
        return after((f, op), id);
    }
    let leaf = |number: usize| {
        let from = number * size;
        let to = from + size.min(n - from);
        fold((from..to).map(|i| f(I::at(range.start, i))), &op)
    };
    let value = tree(n.div_ceil(size), &leaf, &op);
    after((f, op, id), value)
}

/// Combines the values of a leaf, of which there is one at least, from the first to the last.
///
/// A function of its own: within the tree's loop the sum was kept in memory, and each step took a
/// store and a load more than the operator's latency (2.0 to 2.7 ns for floats instead of 0.7).
#[inline(never)]
fn fold<T>(values: impl Iterator<Item = T>, op: &impl Fn(T, T) -> T) -> T {
    values.reduce(op).expect("a leaf is not empty")
}
