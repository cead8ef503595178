//! Loops over slices.

use super::Loop;
use crate::raw::Parts;
use std::num::NonZero;

/// Calls `body` for each element, in parallel.
///
/// # Blocking
/// As [`for_each_index`](crate::for_each_index), over the elements' indices.
///
/// # Panics
/// As [`for_each_index`](crate::for_each_index), over the elements' indices.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index), over the elements' indices.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// let letters = AtomicUsize::new(0);
/// myriad::par::for_each(&["a", "bc", "def"], |word| _ = letters.fetch_add(word.len(), Relaxed));
/// assert_eq!(letters.into_inner(), 6);
/// ```
#[doc(alias = "par_iter")]
#[track_caller]
pub fn for_each<T: Sync>(xs: &[T], body: impl Fn(&T) + Sync) {
    // SAFETY: the loop's numbers are indices of the slice.
    Loop::new(0..xs.len()).run(|i| body(unsafe { xs.get_unchecked(i) }));
}

/// Calls `body` for each element, which `body` may change, in parallel.
///
/// # Blocking
/// As [`for_each_index`](crate::for_each_index), over the elements' indices.
///
/// # Panics
/// As [`for_each_index`](crate::for_each_index), over the elements' indices.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index), over the elements' indices.
///
/// # Examples
/// ```
/// let mut xs = [1, 2, 3];
/// myriad::par::for_each_mut(&mut xs, |x| *x *= 10);
/// assert_eq!(xs, [10, 20, 30]);
/// ```
#[doc(alias = "par_iter_mut")]
#[track_caller]
pub fn for_each_mut<T: Send>(xs: &mut [T], body: impl Fn(&mut T) + Sync) {
    let parts = Parts::new(xs);
    Loop::new(0..parts.len()).run(|i| {
        // SAFETY: an index of the slice, and the loop comes to each exactly once.
        let element = unsafe { parts.part(i..i + 1) };
        body(&mut element[0]);
    });
}

/// Calls `body` for each part of `size` elements, with the number of the part; the last one may be
/// shorter.
///
/// # Blocking
/// As [`for_each_index`](crate::for_each_index), over the parts' numbers.
///
/// # Panics
/// As [`for_each_index`](crate::for_each_index), over the parts' numbers. Panics also if `size` is
/// 0.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index), over the parts' numbers.
///
/// # Examples
/// ```
/// use std::sync::Mutex;
/// let sums = Mutex::new([0; 3]);
/// myriad::par::for_each_chunk(&[1, 2, 3, 4, 5], 2, |number, part| sums.lock().unwrap()[number] = part.iter().sum());
/// assert_eq!(sums.into_inner().unwrap(), [3, 7, 5]);
/// ```
#[doc(alias = "par_chunks")]
#[track_caller]
pub fn for_each_chunk<T: Sync>(xs: &[T], size: usize, body: impl Fn(usize, &[T]) + Sync) {
    let size = at_least_one(size);
    Loop::new(0..xs.len().div_ceil(size)).run(|number| {
        let begin = number * size;
        body(number, &xs[begin..begin + size.min(xs.len() - begin)]);
    });
}

/// As [`for_each_chunk`], for parts that `body` may change.
///
/// # Blocking
/// As [`for_each_index`](crate::for_each_index), over the parts' numbers.
///
/// # Panics
/// As [`for_each_index`](crate::for_each_index), over the parts' numbers. Panics also if `size` is
/// 0.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index), over the parts' numbers.
///
/// # Examples
/// ```
/// let mut image = vec![0_u8; 640 * 480];
/// myriad::par::for_each_chunk_mut(&mut image, 640, |y, row| row.fill(y as u8));
/// assert_eq!(image[640 * 99], 99);
/// ```
#[doc(alias = "par_chunks_mut")]
#[track_caller]
pub fn for_each_chunk_mut<T: Send>(xs: &mut [T], size: usize, body: impl Fn(usize, &mut [T]) + Sync) {
    let size = at_least_one(size);
    let parts = Parts::new(xs);
    Loop::new(0..parts.len().div_ceil(size)).run(|number| {
        let begin = number * size;
        let end = begin + size.min(parts.len() - begin);
        // SAFETY: within the slice; the loop comes to each number exactly once, and the parts of
        // different numbers are disjoint.
        body(number, unsafe { parts.part(begin..end) });
    });
}

#[track_caller]
fn at_least_one(size: usize) -> usize {
    NonZero::new(size).expect("a part has at least 1 element, not 0").get()
}
