//! A slice whose parts go to different workers.

use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice, of which each worker may have disjoint parts at a time.
#[derive(Debug)]
pub(crate) struct Parts<'a, T> {
    first: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: whoever takes a part has it alone (the contract of `part`), as if it had been sent a
// `&mut [T]`.
unsafe impl<T: Send> Sync for Parts<'_, T> {}
// SAFETY: whoever takes a part has it alone (the contract of `part`), as if it had been sent a
// `&mut [T]`.
unsafe impl<T: Send> Send for Parts<'_, T> {}

impl<'a, T> Parts<'a, T> {
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Parts { first: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where element `i` is, or would be.
    #[inline(always)]
    pub(crate) fn at(&self, i: usize) -> *mut T {
        self.first.wrapping_add(i)
    }

    /// A part.
    ///
    /// # Safety
    /// - `range` is within the slice.
    /// - No other part that overlaps it is in use.
    #[inline(always)]
    #[expect(clippy::mut_from_ref, reason = "that is what it is for: see the contract")]
    pub(crate) unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        debug_assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: `range` is within the slice, and no other part that overlaps it is in use (this
        // method's contract); the slice is borrowed for as long as this exists.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(range.start), range.end - range.start) }
    }
}
