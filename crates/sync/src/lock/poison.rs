//! Poisoning, as std has it: a value whose holder has panicked is marked, and later holders hear of
//! it.

use myriad_base::sys::atomic::{AtomicBool, Ordering::*};
use std::sync::{LockResult, PoisonError};
use std::thread::panicking;

/// Was the thread panicking already when the guard was made? Then it is no new panic that ends it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Since(bool);

impl Since {
    #[inline(always)]
    pub(super) fn now() -> Since {
        Since(panicking())
    }

    /// The guard goes, its lock is still held: marks the value if this is because of a panic in the
    /// section.
    #[inline(always)]
    pub(super) fn end(self, poisoned: &AtomicBool) {
        if !self.0 && panicking() {
            // Relaxed: ordered by the lock, as the value is.
            poisoned.store(true, Relaxed);
        }
    }
}

/// With the news, if the value is marked.
#[inline(always)]
pub(super) fn told<G>(poisoned: &AtomicBool, guard: G) -> LockResult<G> {
    // Relaxed: as above.
    if poisoned.load(Relaxed) { Err(PoisonError::new(guard)) } else { Ok(guard) }
}
