//! A reference to an agent that costs no locked instruction: of turns, and of sends that are held.
//!
//! **Invariant.** The cell counts such references under its lock. Together they have one reference
//! of the cell's `Arc`, from the first on: whoever makes the first holds the lock and has a handle,
//! and whoever drops the last drops it, without the lock. So a chain of agents that send to each
//! other counts by plain stores, and an agent without handles stays as long as there is something
//! to do.

use crate::agent::Agent;
use crate::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

/// See the module's header.
pub(crate) struct Kept<T: Send + Sync + 'static>(NonNull<Cell<T>>);

// SAFETY: as an `Arc` of a cell, which is `Send` and `Sync`.
unsafe impl<T: Send + Sync> Send for Kept<T> {}

impl<T: Send + Sync + 'static> Kept<T> {
    /// One that the cell has counted.
    ///
    /// # Safety
    /// The cell has counted it (`Shared::keep`), and nobody else has it.
    #[inline(always)]
    pub(crate) unsafe fn counted(cell: *const Cell<T>) -> Kept<T> {
        // SAFETY: it is the address of a cell.
        Kept(unsafe { NonNull::new_unchecked(cell.cast_mut()) })
    }

    /// Ends without the count: the cell has counted one less already. `was_last`: it was the last.
    #[inline(always)]
    pub(crate) fn end(self, was_last: bool) {
        let cell = ManuallyDrop::new(self).0;
        if was_last {
            // SAFETY: this is the reference that all together had (the module's invariant).
            unsafe { end_all(cell) };
        }
    }

    /// A handle.
    pub(crate) fn handle(&self) -> Agent<T> {
        // SAFETY: the cell stands in an `Arc`, of which all together have a reference (the module's
        // invariant). So there is one more now.
        unsafe {
            Arc::increment_strong_count(self.0.as_ptr());
            Agent(Arc::from_raw(self.0.as_ptr()))
        }
    }
}

/// Drops the reference that all together have.
///
/// # Safety
/// There is none of them any more, and this is called once.
#[cold]
#[inline(never)]
unsafe fn end_all<T>(cell: NonNull<Cell<T>>) {
    // SAFETY: this reference was made by whoever counted the first (the module's invariant).
    drop(unsafe { Arc::from_raw(cell.as_ptr()) });
}

impl<T: Send + Sync + 'static> Deref for Kept<T> {
    type Target = Cell<T>;

    #[inline(always)]
    fn deref(&self) -> &Cell<T> {
        // SAFETY: this reference is counted, so the cell stands (the module's invariant).
        unsafe { self.0.as_ref() }
    }
}

impl<T: Send + Sync + 'static> Drop for Kept<T> {
    #[cold]
    fn drop(&mut self) {
        let was_last = self.uncount();
        // SAFETY: it was counted until now, and is not used afterwards.
        unsafe { Kept::counted(self.0.as_ptr()) }.end(was_last);
    }
}
