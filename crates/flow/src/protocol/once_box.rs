//! A box that is made when it is first needed.

use myriad_base::sys::atomic::{AtomicPtr, LoadInOrder, Ordering::*};
use myriad_base::sys::mutant::{on, ord};
use std::ptr::null_mut;

/// A place for something that few need.
#[allow(missing_debug_implementations)]
pub struct OnceBox<P>(AtomicPtr<P>);

// SAFETY: what is in it is shared, and dropped by whoever has the whole.
unsafe impl<P: Send + Sync> Sync for OnceBox<P> {}
// SAFETY: the box goes with it, and what is in it is `Send`.
unsafe impl<P: Send> Send for OnceBox<P> {}

impl<P> Default for OnceBox<P> {
    fn default() -> Self {
        OnceBox(AtomicPtr::new(null_mut()))
    }
}

impl<P> OnceBox<P> {
    /// What is in it, if it was needed. Sequentially consistent, for a caller who has changed
    /// something else before: who makes the box looks at that after.
    #[inline]
    pub fn get(&self) -> Option<&P> {
        let made = if on("looks-early") { self.0.load(Acquire) } else { self.0.load_in_order() };
        // SAFETY: a box that was put there, which stands as long as `self`.
        unsafe { made.as_ref() }
    }

    /// What is in it; by `make`, if nothing was.
    #[cold]
    pub fn get_or_make(&self, make: impl FnOnce() -> P) -> &P {
        if let Some(made) = self.get() {
            return made;
        }
        let mine = Box::into_raw(Box::new(make()));
        match self.0.compare_exchange(null_mut(), mine, ord(SeqCst, "once-box-make"), SeqCst) {
            // SAFETY: put there just now; it stands as long as `self`.
            Ok(_) => unsafe { &*mine },
            Err(first) => {
                // SAFETY: our own box, which nobody else has seen.
                drop(unsafe { Box::from_raw(mine) });
                // SAFETY: put there by another one; it stands as long as `self`.
                unsafe { &*first }
            }
        }
    }

    /// Takes it out.
    pub fn take(&mut self) -> Option<P> {
        // Relaxed: borrowed uniquely.
        let made = self.0.swap(null_mut(), Relaxed);
        // SAFETY: a box that was put there, and is taken out once.
        (!made.is_null()).then(|| *unsafe { Box::from_raw(made) })
    }
}

impl<P> Drop for OnceBox<P> {
    fn drop(&mut self) {
        // Relaxed: borrowed uniquely.
        let made = self.0.load(Relaxed);
        if !made.is_null() {
            // SAFETY: a box that was put there.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}
