//! A part of a merge: two sorted ranges that go to one place.

use std::cmp::Ordering::{self, Less};

/// A range that is so many times as long as the other is moved by stretches.
const MUCH: usize = 8;

/// What is still to do of it: elements `a..a_end` and `b..b_end` go to `out`, where there is room
/// for exactly these.
pub(super) struct Segment<T> {
    a: *const T,
    a_end: *const T,
    b: *const T,
    b_end: *const T,
    out: *mut T,
}

// SAFETY: it has its elements alone, and its room: so it goes where they may go.
unsafe impl<T: Send> Send for Segment<T> {}

impl<T> Segment<T> {
    /// # Safety
    /// Until it is finished, nobody else uses these elements, nor the room at `out`, which lies
    /// elsewhere; afterwards the elements are at `out`.
    pub(super) unsafe fn new(a: &[T], b: &[T], out: *mut T) -> Self {
        let (a, b) = (a.as_ptr_range(), b.as_ptr_range());
        Segment { a: a.start, a_end: a.end, b: b.start, b_end: b.end, out }
    }

    /// Merges them; of equal elements, those of `a` come first. If `cmp` panics, the segment knows
    /// what is left.
    pub(super) fn merge<F: Fn(&T, &T) -> Ordering>(&mut self, cmp: &F) {
        let (a, b) = self.left();
        let mut at = Progress { a: self.a, b: self.b, out: self.out, of: self };
        if a.max(b) >= MUCH * a.min(b) {
            at.by_stretches(cmp);
        } else {
            at.one_by_one(cmp);
        }
        drop(at);
        self.finish();
    }

    /// How many elements of either range.
    fn left(&self) -> (usize, usize) {
        // SAFETY: ends of one range each.
        unsafe { (self.a_end.offset_from_unsigned(self.a), self.b_end.offset_from_unsigned(self.b)) }
    }

    /// Moves what is left, in whatever order.
    pub(super) fn finish(&mut self) {
        let (a, b) = self.left();
        // SAFETY: the rest of the room is as long as both. Nothing panics here.
        unsafe {
            self.a.copy_to_nonoverlapping(self.out, a);
            self.b.copy_to_nonoverlapping(self.out.add(a), b);
            self.out = self.out.add(a + b);
        }
        (self.a, self.b) = (self.a_end, self.b_end);
    }
}

/// How far a merge is: in registers, and told to the segment at the end, also when a comparator
/// panics.
struct Progress<'a, T> {
    of: &'a mut Segment<T>,
    a: *const T,
    b: *const T,
    out: *mut T,
}

impl<T> Progress<'_, T> {
    fn one_by_one<F: Fn(&T, &T) -> Ordering>(&mut self, cmp: &F) {
        let Segment { a_end, b_end, .. } = *self.of;
        while self.a != a_end && self.b != b_end {
            // SAFETY: neither is at its end.
            let takes_b = cmp(unsafe { &*self.b }, unsafe { &*self.a }) == Less;
            let from = if takes_b { self.b } else { self.a };
            // SAFETY: an element that is left, to the next slot of the room; whichever it is, one
            // step further is at most the end. An element is compared before it moves and never
            // after: so what a comparator changes in it is kept.
            unsafe {
                from.copy_to_nonoverlapping(self.out, 1);
                self.out = self.out.add(1);
                self.a = self.a.add(usize::from(!takes_b));
                self.b = self.b.add(usize::from(takes_b));
            }
        }
    }

    /// The same for ranges one of which is much longer: looks for where the next element of the
    /// short one belongs, by steps that double and then by halves, and moves all before it at once.
    fn by_stretches<F: Fn(&T, &T) -> Ordering>(&mut self, cmp: &F) {
        let Segment { a_end, b_end, .. } = *self.of;
        while self.a != a_end && self.b != b_end {
            // SAFETY: neither is at its end; what is left of each is a slice. As above, nothing is
            // compared once it has moved.
            unsafe {
                let left = rest(self.a, a_end);
                let n = first_not(left.len(), |i| cmp(&*self.b, &left[i]) != Less);
                self.a.copy_to_nonoverlapping(self.out, n);
                (self.a, self.out) = (self.a.add(n), self.out.add(n));
                if self.a == a_end {
                    return;
                }
                // The first of `b` belongs here (said the comparator, which may lie: so it goes in
                // any case).
                let left = rest(self.b.add(1), b_end);
                let n = 1 + first_not(left.len(), |i| cmp(&left[i], &*self.a) == Less);
                self.b.copy_to_nonoverlapping(self.out, n);
                (self.b, self.out) = (self.b.add(n), self.out.add(n));
            }
        }
    }
}

/// # Safety
/// `start` and `end` are the ends of a range of elements, which nobody changes as long as the
/// result is in use.
unsafe fn rest<'a, T>(start: *const T, end: *const T) -> &'a [T] {
    // SAFETY: `start` and `end` are the ends of a range of elements, which nobody changes meanwhile
    // (this function's contract).
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// How many of the numbers below `n`, from 0 on, fulfil this, if none behind them do: fast if they
/// are few. At most `n`, whatever it says.
pub(super) fn first_not(n: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    while step <= n && is_before(step - 1) {
        step *= 2;
    }
    // It holds for the last one that was asked for before, if there was one, and not for this one,
    // if there is one.
    let (mut low, mut high) = (step / 2, n.min(step - 1));
    while low < high {
        let mid = low + (high - low) / 2;
        if is_before(mid) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    low
}

impl<T> Drop for Progress<'_, T> {
    fn drop(&mut self) {
        (self.of.a, self.of.b, self.of.out) = (self.a, self.b, self.out);
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// A key, and where it was: of equal keys those of `a` come first, in their order.
    fn merged(a: &[(u32, u32)], b: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let mut out = Vec::with_capacity(a.len() + b.len());
        // SAFETY: nobody uses the room meanwhile, which has as many elements afterwards; they have
        // no destructors.
        unsafe {
            Segment::new(a, b, out.as_mut_ptr()).merge(&|x: &(u32, u32), y: &(u32, u32)| x.0.cmp(&y.0));
            out.set_len(a.len() + b.len());
        }
        out
    }

    #[test]
    fn one_much_longer_than_the_other() {
        for long in 0..70 {
            for short in 0..4 {
                for first in 0..long + 2 {
                    let a: Vec<_> = (0..long).map(|i| (i, i)).collect();
                    let b: Vec<_> = (0..short).map(|i| (first + i / 2 * 7, 1000 + i)).collect();
                    for (a, b) in [(&a, &b), (&b, &a)] {
                        let mut expected = [&a[..], &b[..]].concat();
                        expected.sort_by_key(|pair| pair.0);
                        assert_eq!(merged(a, b), expected);
                    }
                }
            }
        }
    }

    #[test]
    fn as_many_as_fulfil_it() {
        for n in 0..40 {
            for k in 0..=n {
                assert_eq!(first_not(n, |x| x < k), k, "of {n}");
            }
        }
        // One that lies.
        let calls = std::cell::Cell::new(0);
        let lies = |_| calls.replace(calls.get() + 1) % 3 < 2;
        (0..100).for_each(|n| assert!(first_not(n, lies) <= n));
    }
}
