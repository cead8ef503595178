//! A row of values in a piece of memory.

use super::piece::{Piece, SIZE};
use std::fmt;
use std::mem::forget;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, slice_from_raw_parts_mut};

/// Values in a row, as a boxed slice has them, in one [`Piece`].
///
/// **Invariant.** `start` begins a piece that is this array's, and in it stand `len` values.
pub struct Array<T> {
    start: NonNull<T>,
    len: usize,
}

// SAFETY: the array owns its values, and its memory has no ties to a thread.
unsafe impl<T: Send> Send for Array<T> {}
// SAFETY: a shared array gives out shared references to its values, and no more.
unsafe impl<T: Sync> Sync for Array<T> {}

impl<T> Array<T> {
    /// So many values, each made by `value`.
    ///
    /// # Panics
    /// If they have no room in a piece.
    pub fn new(len: usize, mut value: impl FnMut() -> T) -> Array<T> {
        let fits = len.checked_mul(size_of::<T>()).is_some_and(|bytes| bytes <= SIZE);
        assert!(fits && align_of::<T>() <= SIZE, "they fit a piece");
        let piece = Piece::new();
        let start = piece.0.cast::<T>();
        // (If `value` panics those before are forgotten.)
        for at in 0..len {
            // SAFETY: within the piece, as was tested above, which is this function's.
            unsafe { start.add(at).write(value()) };
        }
        forget(piece);
        Array { start, len }
    }
}

impl<T> Deref for Array<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many values stand there, and are this array's.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_ref() }
    }
}

impl<T> DerefMut for Array<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: so many values stand there, and are this array's.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.len).as_mut() }
    }
}

impl<T> Drop for Array<T> {
    fn drop(&mut self) {
        // SAFETY: the piece is this array's, of which nobody has a reference any more.
        let _piece = unsafe { Piece::at(self.start.cast()) };
        // SAFETY: so many values stand there, and nobody uses them again.
        unsafe { slice_from_raw_parts_mut(self.start.as_ptr(), self.len).drop_in_place() };
    }
}

impl<T: fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
