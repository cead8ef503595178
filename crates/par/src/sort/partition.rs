//! Partitions of a slice by a predicate, in place: serial, and by several workers.
//!
//! The serial one is the branchless cyclic Lomuto partition of std's own unstable sort (Lukas
//! Bergdoll, ipnsort): one element is lifted out, which leaves a gap that goes round; each step is
//! two moves and no branch.
//!
//! **Rejected.** *By blocks from both ends* (BlockQuicksort: Edelkamp, Weiß 2016), which moves only
//! what is on the wrong side: 3 % slower on 20,000,000 random numbers, 9 % on 16 different ones.

use myriad_core::join;
use std::mem::ManuallyDrop;

/// Moves the elements for which `left(element, pivot)` is true to the front, and says how many
/// there are.
///
/// If `left` panics, the slice has all its elements. Each element is asked once, before it moves.
// Never inlined: as arguments, slice and pivot are known not to overlap, so that the pivot is not
// read again after each move.
#[inline(never)]
pub(super) fn partition<T>(v: &mut [T], pivot: &T, left: &impl Fn(&T, &T) -> bool) -> usize {
    let len = v.len();
    if len == 0 {
        return 0;
    }
    let start = v.as_mut_ptr();
    // SAFETY: there is an element, which is lifted out; `gap` knows where it is missing, and puts
    // it back.
    let mut gap = unsafe { Gap { at: start, value: ManuallyDrop::new(start.read()) } };
    let mut count = 0;
    let mut step = |gap: &mut Gap<T>, i: usize| {
        // SAFETY: `count < i < len`, and the gap is just in front of `i`. Gap, `count` and `i`
        // stand for a cycle of three moves: the first element on the right to the gap, element `i`
        // to its place, and then the gap is at `i`. Nothing panics in between.
        unsafe {
            let right = start.add(i);
            let goes = left(&*right, pivot);
            let first = start.add(count);
            first.copy_to(gap.at, 1);
            right.copy_to_nonoverlapping(first, 1);
            gap.at = right;
            count += usize::from(goes);
        }
    };
    let mut i = 1;
    // Two at a time, of elements that are small: the loop itself is a good part of the work.
    if size_of::<T>() <= 16 {
        while i + 1 < len {
            step(&mut gap, i);
            step(&mut gap, i + 1);
            i += 2;
        }
    }
    while i < len {
        step(&mut gap, i);
        i += 1;
    }
    let goes = left(&gap.value, pivot);
    // SAFETY: `count < len`, for the lifted element was not counted; the same cycle, and the gap's
    // end puts it at `first`.
    unsafe {
        let first = start.add(count);
        first.copy_to(gap.at, 1);
        gap.at = first;
    }
    drop(gap);
    count + usize::from(goes)
}

/// An element is lifted out of the slice; this puts it back.
struct Gap<T> {
    at: *mut T,
    value: ManuallyDrop<T>,
}

impl<T> Drop for Gap<T> {
    fn drop(&mut self) {
        // SAFETY: what stands at `at` is a copy of what stands elsewhere, or of the lifted element
        // itself.
        unsafe { (&raw const *self.value).copy_to_nonoverlapping(self.at, 1) };
    }
}

/// The same by several workers: each partitions a part, then what is on the wrong side of the
/// middle changes places.
pub(super) fn parallel<T, L>(v: &mut [T], pivot: &T, left: &L, grain: usize) -> usize
where
    T: Send + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    if v.len() <= grain {
        return partition(v, pivot, left);
    }
    let mid = v.len() / 2;
    let (front, back) = v.split_at_mut(mid);
    let (a, b) = join(|| parallel(front, pivot, left, grain), || parallel(back, pivot, left, grain));
    // `a` on the left, `mid - a` wrong ones, `b` wrong ones, the rest on the right.
    let wrong = b.min(mid - a);
    let (front, back) = v.split_at_mut(mid);
    exchange(&mut front[a..a + wrong], &mut back[b - wrong..b], grain);
    a + b
}

/// Exchanges the elements of two slices of one length. Wherever it ends, each element is in one of
/// them.
fn exchange<T: Send>(a: &mut [T], b: &mut [T], grain: usize) {
    if a.len() <= grain {
        return a.swap_with_slice(b);
    }
    let mid = a.len() / 2;
    let ((a, aa), (b, bb)) = (a.split_at_mut(mid), b.split_at_mut(mid));
    join(|| exchange(a, b, grain), || exchange(aa, bb, grain));
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::sort::Random;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn check(v: &[u32], at: u32, grain: usize) {
        let mut w = v.to_vec();
        let count = parallel(&mut w, &at, &u32::lt, grain);
        assert!(w[..count].iter().all(|x| *x < at) && w[count..].iter().all(|x| *x >= at), "{v:?} at {at}");
        let mut v = v.to_vec();
        v.sort();
        w.sort();
        assert_eq!(v, w);
    }

    #[test]
    fn all_slices_of_two_values() {
        for len in 0..10 {
            for bits in 0..1_u32 << len {
                let v: Vec<u32> = (0..len).map(|i| bits >> i & 1).collect();
                check(&v, 1, usize::MAX);
                check(&v, 1, 2);
            }
        }
    }

    #[test]
    fn random_slices_by_parts() {
        let mut random = Random::new(1);
        for len in [100, 127, 128, 129, 130, 192, 193, 1000, 4321] {
            let v: Vec<u32> = (0..len).map(|_| random.below(1000) as u32).collect();
            for at in [0, 1, 300, 500, 999, 1000] {
                check(&v, at, 64);
                check(&v, at, 1000);
                check(&v, at, usize::MAX);
            }
        }
    }

    #[test]
    fn liars_lose_no_element() {
        let calls = Cell::new(0_u32);
        for lie in [|_| true, |_| false, |i: u32| i.is_multiple_of(2), |i: u32| (i ^ i >> 3) % 5 < 2] {
            let mut v: Vec<u32> = (0..1000).collect();
            let count = partition(&mut v, &500, &|_, _| lie(calls.replace(calls.get() + 1)));
            assert!(count <= 1000);
            v.sort();
            assert!(v.into_iter().eq(0..1000));
        }
    }

    #[test]
    fn a_panic_at_each_element_loses_none() {
        for stop in (0..20).chain((20..1000).step_by(7)) {
            let mut v: Vec<String> = (0..1000).map(|i| (1000 + i * 7 % 1000).to_string()).collect();
            let asked = Cell::new(0);
            let left = |x: &String, pivot: &String| {
                asked.set(asked.get() + 1);
                assert!(asked.get() <= stop, "planned");
                x < pivot
            };
            assert!(catch_unwind(AssertUnwindSafe(|| partition(&mut v, &"1500".to_owned(), &left))).is_err());
            v.sort();
            assert!(v.into_iter().eq((1000..2000).map(|i| i.to_string())), "{stop}");
        }
    }
}
