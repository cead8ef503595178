//! A spin lock of one byte, for some instructions at a time.
//!
//! For what is locked seldom, and by whoever comes: the waiting lists of locks that have a fast way
//! of their own. What each operation of a primitive takes has a [biased lock](super::biased)
//! instead.
//!
//! **Invariants.** As inside a biased lock: no foreign code, nothing that suspends or unwinds.
//!
//! **Ordering.** Acquire at taking with Release at leaving: what earlier holders did.
//!
//! Tests: `tests/loom/biased.rs`.

use super::bias_owner::pause;
use crate::sys::atomic::{AtomicU8, Ordering::*, Peek};
use crate::sys::mutant::ord;

/// See the module's header.
#[derive(Debug)]
pub struct SpinLock {
    word: AtomicU8,
}

impl SpinLock {
    crate::sys::const_fn! {
        /// An open lock.
        pub const fn new() -> SpinLock {
            SpinLock { word: AtomicU8::new(0) }
        }
    }

    /// Takes the lock. Spins, then yields the processor.
    ///
    /// # Safety
    /// Until the guard is dropped, soon, no foreign code runs, and nothing suspends or unwinds.
    #[inline]
    pub unsafe fn lock(&self) -> SpinGuard<'_> {
        let mut spins = 0;
        // Acquire: pairs with the Release in `drop`.
        while self.word.compare_exchange(0, 1, ord(Acquire, "spin-acquire"), Relaxed).is_err() {
            while self.word.peek(Relaxed) != 0 {
                pause(&mut spins);
            }
        }
        SpinGuard(self)
    }
}

impl Default for SpinLock {
    fn default() -> Self {
        SpinLock::new()
    }
}

/// The lock is held until this is dropped.
#[derive(Debug)]
pub struct SpinGuard<'a>(&'a SpinLock);

impl Drop for SpinGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: pairs with the Acquire in `lock`.
        self.0.word.store(0, ord(Release, "spin-release"));
    }
}
