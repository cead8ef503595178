//! What people call.

use super::kernel::{Exclusive, Inclusive};
use super::source::{InPlace, To};
use super::team;
use crate::number::Number;
use crate::raw::Parts;
use crate::unwind::after;
use myriad_core::engine::split::on_worker;

/// Each element becomes the combination of all from the first up to it, with an associative
/// operator.
///
/// The operator need not be commutative; `op(a, b)` has all of `a` before all of `b`. It is called
/// about once for each element with one worker, and twice with more, on values that overlap as it
/// suits the schedule: if it is associative only by and large, as with floats, the last bits of
/// results may differ from run to run ([`prefix_sum`]'s do not).
///
/// One pass over memory: a cheap operator costs about as much as to read and write the slice.
///
/// # Blocking
/// Until it is done; as the operator does. Workers that wait for each other's part do not hold up
/// their threads.
///
/// # Panics
/// If the operator panics: no more blocks begin, and when all have ended a panic goes on. Each
/// element, also before the one where it was, is then as it was, or combined already: a whole value
/// in any case.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index), and as a panic for the elements.
///
/// # Examples
/// ```
/// let mut words = ["a", "b", "c"].map(String::from);
/// myriad::par::scan_inclusive(&mut words, |a, b| format!("{a}{b}"));
/// assert_eq!(words, ["a", "ab", "abc"]);
/// ```
#[track_caller]
pub fn scan_inclusive<T: Send + Sync>(xs: &mut [T], op: impl Fn(&T, &T) -> T + Sync) {
    let len = xs.len();
    let kernel = Inclusive { source: InPlace(Parts::new(xs)), op };
    on_worker(|| team::scan(&kernel, len, None));
}

/// Each element becomes the combination of all *before* it, the first one `id`. Returns the
/// combination of all.
///
/// # Blocking
/// As [`scan_inclusive`].
///
/// # Panics
/// As [`scan_inclusive`].
///
/// # Cancellation
/// As [`scan_inclusive`].
///
/// # Examples
/// ```
/// let mut lengths = [3, 1, 2];
/// let total = myriad::par::scan_exclusive(&mut lengths, 0, |a, b| a + b);
/// assert_eq!((lengths, total), ([0, 3, 4], 6)); // where each begins
/// ```
#[track_caller]
pub fn scan_exclusive<T: Clone + Send + Sync>(xs: &mut [T], id: T, op: impl Fn(&T, &T) -> T + Sync) -> T {
    let len = xs.len();
    let kernel = Exclusive { source: InPlace(Parts::new(xs)), op };
    let all = on_worker(|| team::scan(&kernel, len, Some(id))).expect("there was one at the beginning");
    after(kernel, all)
}

/// As [`scan_inclusive`], from one slice to another of the same length.
///
/// # Blocking
/// As [`scan_inclusive`].
///
/// # Cancellation
/// As [`scan_inclusive`].
///
/// # Panics
/// As [`scan_inclusive`]; and if the slices have different lengths.
///
/// # Examples
/// ```
/// let mut sums = [0; 4];
/// myriad::par::scan_inclusive_to(&[1, 2, 3, 4], &mut sums, |a, b| a + b);
/// assert_eq!(sums, [1, 3, 6, 10]);
/// ```
#[track_caller]
pub fn scan_inclusive_to<T: Clone + Send + Sync>(from: &[T], to: &mut [T], op: impl Fn(&T, &T) -> T + Sync) {
    let len = same_length(from, to);
    let kernel = Inclusive { source: To { from, to: Parts::new(to) }, op };
    on_worker(|| team::scan(&kernel, len, None));
}

/// As [`scan_exclusive`], from one slice to another of the same length.
///
/// # Blocking
/// As [`scan_inclusive`].
///
/// # Cancellation
/// As [`scan_inclusive`].
///
/// # Panics
/// As [`scan_inclusive`]; and if the slices have different lengths.
///
/// # Examples
/// ```
/// let mut begins = [0; 3];
/// assert_eq!(myriad::par::scan_exclusive_to(&[3, 1, 2], &mut begins, 0, |a, b| a + b), 6);
/// assert_eq!(begins, [0, 3, 4]);
/// ```
#[track_caller]
pub fn scan_exclusive_to<T: Clone + Send + Sync>(
    from: &[T],
    to: &mut [T],
    id: T,
    op: impl Fn(&T, &T) -> T + Sync,
) -> T {
    let len = same_length(from, to);
    let kernel = Exclusive { source: To { from, to: Parts::new(to) }, op };
    let all = on_worker(|| team::scan(&kernel, len, Some(id))).expect("there was one at the beginning");
    after(kernel, all)
}

/// Each number becomes the sum of all up to it.
///
/// Of floats the results are the same, to the bit, on each run and with any number of workers:
/// blocks of 4096 are summed, and scanned from the sum of the blocks before them.
///
/// # Blocking
/// As [`scan_inclusive`].
///
/// # Cancellation
/// As [`scan_inclusive`].
///
/// # Panics
/// If an integer overflows, where that is checked; else it wraps around.
///
/// # Examples
/// ```
/// let mut xs: Vec<u64> = (1..=100).collect();
/// myriad::par::prefix_sum(&mut xs);
/// assert_eq!((xs[0], xs[1], xs[99]), (1, 3, 5050));
/// ```
#[track_caller]
pub fn prefix_sum<T: Number>(xs: &mut [T]) {
    let len = xs.len();
    let source = InPlace(Parts::new(xs));
    let kernel = Inclusive { source, op: |a: &T, b: &T| *a + *b };
    if T::IS_EXACT {
        on_worker(|| team::scan(&kernel, len, None));
    } else {
        on_worker(|| team::scan_strictly(&kernel, len));
    }
}

#[track_caller]
fn same_length<T>(from: &[T], to: &[T]) -> usize {
    assert!(from.len() == to.len(), "a scan from {} elements to {}: there must be as many", from.len(), to.len());
    from.len()
}
