//! Merging a short run into a long one beside it, in place: with memory for the short one alone,
//! and one move of what has to make room.
//!
//! ```text
//!  slice   | long ............ | hole |        the short run is in the buffer
//!                      <--- from the end: stretches of the long one move into the hole, elements of
//!                           the short one between them
//! ```
//! # Invariants
//! The hole has room for exactly what is left in the buffer, all the time; whenever the merge ends,
//! by a panic or a cancellation, that goes there. No element is compared once it has moved to its
//! place.

use super::segment::first_not;
use crate::sort::buffer::Buffer;
use std::cmp::Ordering::{self, Less};

/// A run that is so many times as long as its neighbour, for each worker, has it inserted: by one
/// of them, so with many of them a merge that all take part in is sooner done.
const MUCH: usize = 8;

/// Merges neighbours of which one is much shorter, until there are none; `starts` are those of the
/// runs. False: there is no memory for one of them, and the runs that are left are still sorted.
pub(in crate::sort) fn insert_short_ones<T, F>(v: &mut [T], starts: &mut Vec<usize>, cmp: &F, workers: usize) -> bool
where
    F: Fn(&T, &T) -> Ordering,
{
    let len = v.len();
    each(starts, len, workers, |range, mid| insert(&mut v[range], mid, cmp))
}

/// Would there be one run in the end?
pub(in crate::sort) fn are_insertable(starts: &[usize], len: usize, workers: usize) -> bool {
    let mut starts = starts.to_vec();
    each(&mut starts, len, workers, |_, _| true);
    starts.len() == 1
}

/// Calls `f` for two neighbours of which one is much shorter, and for where the second one begins
/// in them, and takes them for one then; until there are none, or `f` says no.
fn each(
    starts: &mut Vec<usize>,
    len: usize,
    workers: usize,
    mut f: impl FnMut(std::ops::Range<usize>, usize) -> bool,
) -> bool {
    let at = |starts: &[usize], i: usize| starts.get(i).copied().unwrap_or(len);
    // Neighbours that are short for a third one beside them, first: so that one moves once, and not
    // for each of them.
    let mut i = 0;
    while i + 1 < starts.len() {
        let (start, end) = (starts[i], at(starts, i + 2));
        let (before, behind) = (start - starts[i.saturating_sub(1)], at(starts, i + 3) - end);
        if end - start > before.max(behind) / (MUCH * workers) {
            i += 1;
            continue;
        }
        if !f(start..end, starts[i + 1] - start) {
            return false;
        }
        starts.remove(i + 1);
        i = i.saturating_sub(1);
    }
    let mut i = 0;
    while i + 1 < starts.len() {
        let (start, mid) = (starts[i], starts[i + 1]);
        let end = at(starts, i + 2);
        let (a, b) = (mid - start, end - mid);
        if a.max(b) / (MUCH * workers) < a.min(b) {
            i += 1;
            continue;
        }
        if !f(start..end, a) {
            return false;
        }
        starts.remove(i + 1);
        // It is longer now, and may be so for the one before.
        i = i.saturating_sub(1);
    }
    true
}

/// Merges `v[..mid]` and `v[mid..]`, neither empty. False: there is no memory for the shorter one.
fn insert<T, F: Fn(&T, &T) -> Ordering>(v: &mut [T], mid: usize, cmp: &F) -> bool {
    let (a, b) = v.split_at(mid);
    // What is in its place already: the elements of `a` up to the first of `b`, and those of `b`
    // from the last of `a` on. (Of a comparator that lies one of them may be empty.)
    let Some(first) = b.first() else { return true };
    let start = a.partition_point(|x| cmp(first, x) != Less);
    if start == a.len() {
        return true;
    }
    let end = mid + b.partition_point(|x| cmp(x, &a[mid - 1]) == Less);
    let (v, a, b) = (&mut v[start..end], mid - start, end - mid);
    let Some(mut buffer) = Buffer::<T>::new(a.min(b)) else { return false };
    let short: *mut T = buffer.slots().as_mut_ptr().cast();
    let slice = v.as_mut_ptr();
    // SAFETY: the shorter one's elements move to the buffer; from here on the hole is what they
    // left.
    unsafe {
        if b <= a {
            slice.add(a).copy_to_nonoverlapping(short, b);
            Hole { at: slice.add(a), short, left: b }.fill_from_the_end(slice, a, cmp);
        } else {
            slice.copy_to_nonoverlapping(short, a);
            Hole { at: slice, short, left: a }.fill_from_the_front(b, cmp);
        }
    }
    true
}

/// Room in the slice for what is left of the short run.
struct Hole<T> {
    at: *mut T,
    short: *const T,
    left: usize,
}

impl<T> Hole<T> {
    /// The long run ends where the hole begins; all of the short one comes behind what equals it.
    ///
    /// # Safety
    /// From `slice` on there are `long` elements, then the hole; nobody else uses them, nor the
    /// short run.
    unsafe fn fill_from_the_end<F: Fn(&T, &T) -> Ordering>(mut self, slice: *mut T, mut long: usize, cmp: &F) {
        while long > 0 && self.left > 0 {
            // SAFETY: nobody else uses the runs (this function's contract); what is left of both is
            // whole, and the hole between the long one's rest and its moved part has room for the
            // short one's rest. All moves are of one part's end to the hole's end.
            unsafe {
                let (rest, short) =
                    (std::slice::from_raw_parts(slice, long), std::slice::from_raw_parts(self.short, self.left));
                let last = &short[self.left - 1];
                let n = first_not(long, |i| cmp(last, &rest[long - 1 - i]) == Less);
                let (from, to) = (slice.add(long - n), slice.add(long - n + self.left));
                from.copy_to(to, n);
                long -= n;
                self.at = self.at.sub(n);
                if long == 0 {
                    break;
                }
                // The last of the short one belongs here (said the comparator, which may lie: so it
                // goes in any case).
                let next = &*slice.add(long - 1);
                let n = 1 + first_not(self.left - 1, |i| cmp(&short[self.left - 2 - i], next) != Less);
                self.left -= n;
                self.short.add(self.left).copy_to_nonoverlapping(self.at.add(self.left), n);
            }
        }
    }

    /// The long run begins where the hole ends; all of the short one comes before what equals it.
    ///
    /// # Safety
    /// Behind the hole there are `long` elements; nobody else uses them, nor the short run.
    unsafe fn fill_from_the_front<F: Fn(&T, &T) -> Ordering>(mut self, mut long: usize, cmp: &F) {
        while long > 0 && self.left > 0 {
            // SAFETY: nobody else uses the runs (this function's contract); what is left of both is
            // whole, the long one's rest behind the hole. All moves are of one part's front to the
            // hole's front.
            unsafe {
                let rest = std::slice::from_raw_parts(self.at.add(self.left), long);
                let short = std::slice::from_raw_parts(self.short, self.left);
                let n = first_not(long, |i| cmp(&rest[i], &short[0]) == Less);
                self.at.add(self.left).copy_to(self.at, n);
                long -= n;
                self.at = self.at.add(n);
                if long == 0 {
                    break;
                }
                // As above.
                let next = &*self.at.add(self.left);
                let n = 1 + first_not(self.left - 1, |i| cmp(next, &short[1 + i]) != Less);
                self.short.copy_to_nonoverlapping(self.at, n);
                (self.short, self.at, self.left) = (self.short.add(n), self.at.add(n), self.left - n);
            }
        }
    }
}

impl<T> Drop for Hole<T> {
    fn drop(&mut self) {
        // SAFETY: the hole has room for what is left, which is in the buffer and nowhere else.
        unsafe { self.short.copy_to_nonoverlapping(self.at, self.left) };
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Many short ones beside a long one.
    #[test]
    fn a_long_one_moves_once() {
        for front in [0, 1, 7, 15] {
            let mut starts: Vec<usize> = (0..front).map(|i| 100 * i).collect();
            starts.extend((0..=15 - front).map(|i| 100 * front + if i == 0 { 0 } else { 1_000_000 + 100 * (i - 1) }));
            let len = 1_000_000 + 1500;
            let mut moved = 0;
            assert!(each(&mut starts, len, 2, |range, _| {
                moved += range.len();
                true
            }));
            assert_eq!(starts, [0]);
            assert!(moved < 3 * len, "{front} before it: {moved} of {len}");
        }
    }

    /// A key, and what must stay in order.
    type Item = (u32, Box<usize>);

    fn runs(lengths: &[usize], keys: impl Fn(usize, usize) -> u32) -> (Vec<Item>, Vec<usize>) {
        let (mut v, mut starts): (Vec<Item>, _) = (Vec::new(), Vec::new());
        for (run, &length) in lengths.iter().enumerate() {
            starts.push(v.len());
            let mut keys: Vec<u32> = (0..length).map(|i| keys(run, i)).collect();
            keys.sort();
            let first = v.len();
            v.extend(keys.into_iter().enumerate().map(|(i, key)| (key, Box::new(first + i))));
        }
        (v, starts)
    }

    fn by_key(a: &Item, b: &Item) -> Ordering {
        a.0.cmp(&b.0)
    }

    #[test]
    fn short_ones_at_each_place() {
        for long in [1, 2, 8, 9, 40] {
            for short in 1..=3 {
                for span in [1, 3, 50] {
                    for seed in 0..20 {
                        let keys = |run: usize, i: usize| ((run * 31 + i * 17 + seed * 7) % 101) as u32 * span / 50;
                        for lengths in
                            [vec![long, short], vec![short, long], vec![long, short, long], vec![short, long, short, 1]]
                        {
                            let (mut v, mut starts) = runs(&lengths, keys);
                            let mut expected = v.clone();
                            assert!(insert_short_ones(&mut v, &mut starts, &by_key, 1));
                            for (i, &start) in starts.iter().enumerate() {
                                let end = starts.get(i + 1).copied().unwrap_or(v.len());
                                expected[start..end].sort_by_key(|item| item.0);
                            }
                            assert_eq!(v, expected, "{lengths:?}");
                        }
                    }
                }
            }
        }
    }

    /// A panic at each call, and answers of all kinds: each element is there once. (Boxes: else
    /// they would be freed twice, or lost.)
    #[test]
    fn panics_and_lies() {
        for lengths in [[50, 5], [5, 50]] {
            for bad in 0.. {
                let (mut v, mut starts) = runs(&lengths, |run, i| ((run * 13 + i * 7) % 40) as u32);
                let calls = std::cell::Cell::new(0);
                let cmp = |a: &Item, b: &Item| {
                    assert!(calls.replace(calls.get() + 1) != bad, "planned");
                    by_key(a, b)
                };
                let ended = catch_unwind(AssertUnwindSafe(|| insert_short_ones(&mut v, &mut starts, &cmp, 1))).is_ok();
                let mut there: Vec<usize> = v.iter().map(|item| *item.1).collect();
                there.sort();
                assert!(there.into_iter().eq(0..55), "{bad}");
                if ended {
                    break;
                }
            }
            for lie in 0..200_u64 {
                let (mut v, mut starts) = runs(&lengths, |_, i| i as u32);
                let calls = std::cell::Cell::new(lie.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let cmp = |_: &Item, _: &Item| {
                    let answer = calls.replace(calls.get().wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(lie)) >> 62;
                    [Less, Ordering::Equal, Ordering::Greater, Less][answer as usize]
                };
                insert_short_ones(&mut v, &mut starts, &cmp, 1);
                let mut there: Vec<usize> = v.iter().map(|item| *item.1).collect();
                there.sort();
                assert!(there.into_iter().eq(0..55), "{lie}");
            }
        }
    }
}
