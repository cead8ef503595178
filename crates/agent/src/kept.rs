//! A reference to an agent's cell: of handles, of turns, and of sends that are held.
//!
//! **Invariant.** The cell stands in a box, and counts its references under its lock; whoever drops
//! the last one frees the box, without the lock. The lock is biased: so an action that copies a
//! handle and sends by it counts by plain stores.
//!
//! **Rejected.** An `Arc`: its counts are locked instructions, 20 cycles each. The two of a value
//! with a handle (the copy for the action, and the end of the old value) took half of a hop.

use crate::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

/// See the module's header.
pub(crate) struct Kept<T: 'static>(NonNull<Cell<T>>);

// SAFETY: a cell of such values is `Send` and `Sync`, and is counted under its lock.
unsafe impl<T: Send + Sync> Send for Kept<T> {}

impl<T: 'static> Kept<T> {
    /// The only reference to a new cell, which has counted it.
    pub(crate) fn new(cell: Cell<T>) -> Kept<T> {
        Kept(NonNull::from(Box::leak(Box::new(cell))))
    }

    /// Another one, to the same cell.
    ///
    /// # Safety
    /// The cell has counted it (`Shared::keep`), and nobody else has it.
    #[inline(always)]
    pub(crate) unsafe fn counted(&self) -> Kept<T> {
        Kept(self.0)
    }

    /// Ends without the count: the cell has counted one less already. `was_last`: it was the last.
    #[inline(always)]
    pub(crate) fn end(self, was_last: bool) {
        let cell = ManuallyDrop::new(self).0;
        if was_last {
            // SAFETY: there is no reference any more (the module's invariant).
            unsafe { free(cell) };
        }
    }
}

/// Drops the cell.
///
/// # Safety
/// It is that of a [`Kept`], there is no reference to it any more, and this is called once.
#[cold]
#[inline(never)]
unsafe fn free<T>(cell: NonNull<Cell<T>>) {
    // SAFETY: it was made by `Kept::new`, and is not used afterwards (this function's contract).
    drop(unsafe { Box::from_raw(cell.as_ptr()) });
}

impl<T: 'static> Clone for Kept<T> {
    #[inline]
    fn clone(&self) -> Kept<T> {
        self.count();
        // SAFETY: it was counted just now.
        unsafe { self.counted() }
    }
}

impl<T: 'static> Deref for Kept<T> {
    type Target = Cell<T>;

    #[inline(always)]
    fn deref(&self) -> &Cell<T> {
        // SAFETY: this reference is counted, so the cell stands (the module's invariant).
        unsafe { self.0.as_ref() }
    }
}

impl<T: 'static> Drop for Kept<T> {
    #[inline]
    fn drop(&mut self) {
        if self.uncount() {
            // SAFETY: this was the last reference (the module's invariant).
            unsafe { free(self.0) };
        }
    }
}
