//! Poisoning, as std has it: a value whose holder has panicked is marked, and later holders hear of
//! it.

use myriad_base::sys::atomic::{AtomicBool, Ordering::*};
use std::fmt;
use std::ops::Deref;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
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

/// A guard of the value, or the value, with the news if it is marked.
#[inline(always)]
pub(super) fn told<G>(poisoned: &AtomicBool, guard: G) -> LockResult<G> {
    // Relaxed: as above.
    if poisoned.load(Relaxed) { Err(PoisonError::new(guard)) } else { Ok(guard) }
}

/// The lock of this name, as std shows it; `tried` is what came of trying to lock it.
pub(super) fn show<G: Deref<Target: fmt::Debug>>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    tried: TryLockResult<G>,
    poisoned: &AtomicBool,
) -> fmt::Result {
    let mut s = f.debug_struct(name);
    match tried {
        Ok(guard) => s.field("data", &&*guard),
        Err(TryLockError::Poisoned(error)) => s.field("data", &&**error.get_ref()),
        Err(TryLockError::WouldBlock) => s.field("data", &format_args!("<locked>")),
    };
    s.field("poisoned", &poisoned.load(Relaxed)).finish_non_exhaustive()
}
