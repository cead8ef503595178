//! Sorting by keys that are computed once.

use super::{fork, permute, stable};
use std::mem::MaybeUninit;

/// Sorts the slice by a key that is computed once for each element, in parallel and stably.
///
/// For keys that are costly to compute, or own memory. Keys and their elements' numbers are sorted;
/// then each element moves to its place. Needs memory for the keys, twice, and for the elements.
///
/// # Blocking
/// Until it is sorted. `key` may block.
///
/// # Panics
/// If `key` or the keys' comparison panics, all keys that were made are dropped, and the panic goes
/// on; the slice is as it was, or in order.
///
/// # Cancellation
/// As [`sort_by`](super::sort_by).
///
/// # Examples
/// ```
/// let mut v = [-9_i32, 10, -3, 2];
/// myriad::par::sort_by_cached_key(&mut v, |x| x.to_string());
/// assert_eq!(v, [-3, -9, 10, 2]);
/// ```
pub fn sort_by_cached_key<T, K, F>(v: &mut [T], key: F)
where
    T: Send + Sync,
    K: Ord + Send + Sync,
    F: Fn(&T) -> K + Sync,
{
    // Elements without a size: their keys are asked for, as std does, and nothing can come of it.
    if v.len() < SMALL || size_of::<T>() == 0 {
        return v.sort_by_cached_key(key);
    }
    fork::on_workers(|workers| {
        let len = v.len();
        let mut keys: Vec<(K, usize)> = Vec::new();
        let slice = v.as_mut_ptr();
        // SAFETY: the same elements again; `v` is not used while `elements` is.
        let elements: &[T] = unsafe { std::slice::from_raw_parts(slice, len) };
        keys.reserve_exact(len);
        let grain = fork::grain(len, workers, SMALL / 4);
        let mut parts: Vec<CachedPart<'_, T, K>> = elements
            .chunks(grain)
            .zip(keys.spare_capacity_mut()[..len].chunks_mut(grain))
            .enumerate()
            .map(|(i, (elements, keys))| CachedPart { elements, keys, first: i * grain, written: 0 })
            .collect();
        fork::each(&mut parts, &|part| part.fill(&key));
        parts.into_iter().for_each(std::mem::forget);
        // SAFETY: each part is filled, or a panic would have gone on; they are the vector's now.
        unsafe { keys.set_len(len) };
        stable::by(&mut keys, &|a: &(K, usize), b: &(K, usize)| a.0.cmp(&b.0), workers);
        // SAFETY: the numbers are those of the elements, each once, in whatever order.
        let done = unsafe { permute::permute(slice, len, &|i| &raw const elements[keys[i].1], workers) };
        if !done {
            in_place(v, &mut keys);
        }
    })
}

/// Fewer elements than this are std's.
const SMALL: usize = 1 << 10;

/// As [`permute::permute`], without memory: along the cycles. (Not in parallel: it is for want of
/// memory.)
fn in_place<T, K>(v: &mut [T], keys: &mut [(K, usize)]) {
    for i in 0..v.len() {
        let mut from = keys[i].1;
        // What was there has changed places since.
        while from < i {
            from = keys[from].1;
        }
        keys[i].1 = from;
        v.swap(i, from);
    }
}

/// The keys of some elements, with the elements' numbers. If one key panics, all that were made are
/// dropped, of all parts.
struct CachedPart<'a, T, K> {
    elements: &'a [T],
    keys: &'a mut [MaybeUninit<(K, usize)>],
    /// The number of the first element.
    first: usize,
    /// So many keys are there.
    written: usize,
}

impl<T, K> CachedPart<'_, T, K> {
    fn fill(&mut self, key: &impl Fn(&T) -> K) {
        for (x, slot) in self.elements.iter().zip(&mut *self.keys) {
            slot.write((key(x), self.first + self.written));
            self.written += 1;
        }
    }
}

impl<T, K> Drop for CachedPart<'_, T, K> {
    fn drop(&mut self) {
        let written: *mut [MaybeUninit<(K, usize)>] = &mut self.keys[..self.written];
        // SAFETY: these are written, and nobody else has them.
        unsafe { std::ptr::drop_in_place(written as *mut [(K, usize)]) };
    }
}
