//! A part of a merge: two sorted ranges that go to one place.

use std::cmp::Ordering::{self, Less};

/// What is still to do of it: elements `a..a_end` and `b..b_end` go to `out`, where there is room for exactly these.
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
    /// Until it is finished, nobody else uses these elements, nor the room at `out`, which lies elsewhere; afterwards the elements
    /// are at `out`.
    pub(super) unsafe fn new(a: &[T], b: &[T], out: *mut T) -> Self {
        let (a, b) = (a.as_ptr_range(), b.as_ptr_range());
        Segment { a: a.start, a_end: a.end, b: b.start, b_end: b.end, out }
    }

    /// Merges them; of equal elements, those of `a` come first. If `cmp` panics, the segment knows what is left.
    pub(super) fn merge<F: Fn(&T, &T) -> Ordering>(&mut self, cmp: &F) {
        let Segment { a, a_end, b, b_end, out } = *self;
        let mut at = Progress { of: self, a, b, out };
        while at.a != a_end && at.b != b_end {
            // SAFETY: neither is at its end.
            let takes_b = cmp(unsafe { &*at.b }, unsafe { &*at.a }) == Less;
            let from = if takes_b { at.b } else { at.a };
            // SAFETY: an element that is left, to the next place of the room; whichever it is, one step further is at most the end.
            // An element is compared before it moves and never after: so what a comparator changes in it is kept.
            unsafe {
                from.copy_to_nonoverlapping(at.out, 1);
                at.out = at.out.add(1);
                at.a = at.a.add(usize::from(!takes_b));
                at.b = at.b.add(usize::from(takes_b));
            }
        }
        drop(at);
        self.finish();
    }

    /// Moves what is left, in whatever order.
    pub(super) fn finish(&mut self) {
        // SAFETY: ends of one range each, and the rest of the room is as long as both. Nothing panics here.
        unsafe {
            let (a, b) = (self.a_end.offset_from_unsigned(self.a), self.b_end.offset_from_unsigned(self.b));
            self.a.copy_to_nonoverlapping(self.out, a);
            self.b.copy_to_nonoverlapping(self.out.add(a), b);
            self.out = self.out.add(a + b);
        }
        (self.a, self.b) = (self.a_end, self.b_end);
    }
}

/// How far a merge is: in registers, and told to the segment at the end, also when a comparator panics.
struct Progress<'a, T> {
    of: &'a mut Segment<T>,
    a: *const T,
    b: *const T,
    out: *mut T,
}

impl<T> Drop for Progress<'_, T> {
    fn drop(&mut self) {
        (self.of.a, self.of.b, self.of.out) = (self.a, self.b, self.out);
    }
}
