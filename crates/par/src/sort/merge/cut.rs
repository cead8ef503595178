//! Where to cut a merge into parts that do not depend on each other: co-ranking (Siebert, Träff
//! 2012).

use super::segment::Segment;
use std::cmp::Ordering::{self, Less};

/// How many of the first `k` elements of the merge come from `a`. In bounds, whatever the
/// comparator answers.
pub(super) fn corank<T>(k: usize, a: &[T], b: &[T], cmp: &impl Fn(&T, &T) -> Ordering) -> usize {
    let (mut low, mut high) = (k.saturating_sub(b.len()), k.min(a.len()));
    // The first `i` for which `a[i]` comes after the `k - i` first of `b`.
    while low < high {
        let i = low + (high - low) / 2;
        if cmp(&b[k - i - 1], &a[i]) == Less {
            high = i;
        } else {
            low = i + 1;
        }
    }
    low
}

/// Cuts the merge of two ranges to `out` into segments of at most `grain` elements.
///
/// In halves, and these again: so the cuts are in order whatever the comparator answers.
///
/// # Safety
/// Until the segments are finished, nobody else uses the elements of `a` and `b`, nor the room for
/// as many at `out`, which lies elsewhere; afterwards the elements are at `out`.
pub(super) unsafe fn cut<T, F>(a: &[T], b: &[T], out: *mut T, grain: usize, cmp: &F, segments: &mut Vec<Segment<T>>)
where
    F: Fn(&T, &T) -> Ordering,
{
    let len = a.len() + b.len();
    if len <= grain {
        // SAFETY: nobody else uses the elements, nor the room at `out`, until the segment is
        // finished (this function's contract).
        return segments.push(unsafe { Segment::new(a, b, out) });
    }
    let k = len / 2;
    let from_a = corank(k, a, b, cmp);
    let ((a, aa), (b, bb)) = (a.split_at(from_a), b.split_at(k - from_a));
    // SAFETY: nobody else uses the elements, nor the room at `out` (this function's contract); each
    // half has its own elements, and as much room.
    unsafe {
        cut(a, b, out, grain, cmp, segments);
        cut(aa, bb, out.add(k), grain, cmp, segments);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn every_cut_of_all_small_merges() {
        // Keys with numbers behind them: of equal keys, those of `a` come first.
        for bits in 0..1_u32 << 10 {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for i in 0..5 {
                a.push((bits >> i & 1, i));
                b.push((bits >> (i + 5) & 1, i + 5));
            }
            a.sort();
            b.sort();
            let cmp = |x: &(u32, u32), y: &(u32, u32)| x.0.cmp(&y.0);
            let mut merged = [&a[..], &b[..]].concat();
            merged.sort_by(cmp);
            for k in 0..=10 {
                let i = corank(k, &a, &b, &cmp);
                let mut first = [&a[..i], &b[..k - i]].concat();
                first.sort_by(cmp);
                assert_eq!(first, merged[..k], "{a:?} {b:?} {k}");
            }
        }
    }

    #[test]
    fn ends_in_bounds_for_liars() {
        for answer in [Less, Ordering::Equal, Ordering::Greater] {
            for (a, b) in [(0, 0), (0, 7), (7, 0), (3, 5), (100, 1)] {
                for k in 0..=a + b {
                    let i = corank(k, &vec![0; a], &vec![0; b], &|_, _| answer);
                    assert!(i <= a && k - i <= b);
                }
            }
        }
    }
}
