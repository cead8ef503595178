//! A closure that is taken out once, by whoever comes first.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// **Invariant.** Who turns `is_taken` from false to true has `f`, and nobody else ever has.
///
/// (A mutex around it takes twice the time: two read-modify-writes instead of one.)
pub(super) struct Closure<F> {
    is_taken: AtomicBool,
    f: UnsafeCell<Option<F>>,
}

// SAFETY: one thread takes the closure out, whichever it is; references to it are never shared.
unsafe impl<F: Send> Sync for Closure<F> {}

impl<F> Closure<F> {
    pub(super) fn new(f: F) -> Closure<F> {
        Closure { is_taken: AtomicBool::new(false), f: UnsafeCell::new(Some(f)) }
    }
    /// Relaxed: the closure is there since before any other thread has seen this value.
    #[inline]
    pub(super) fn take(&self) -> Option<F> {
        if self.is_taken.load(Relaxed) || self.is_taken.swap(true, Relaxed) {
            return None;
        }
        // SAFETY: this call has turned `is_taken`; see the invariant.
        unsafe { (*self.f.get()).take() }
    }
}
