//! The count of the references to a value that is shared, as that of std's `Arc`.
//!
//! It differs in one way: the word is asked before it is changed. Who finds that its own reference
//! is the only one ends it, or makes the second one, without a read-modify-write. (A start and stop
//! of an actor took nine of those for its references, of 5 ns each, and takes two.)
//!
//! **The word.** The lower half counts references; the upper half weak ones, with one that all the
//! others have together. The value is dropped by whoever ends the last reference, and its memory is
//! freed by whoever ends the last weak one. Both counts are one word, because "no other reference,
//! and no weak one that becomes a reference meanwhile" has to be one look.
//!
//! **Ordering.** Release where a reference ends, and Acquire in who finds that it was the last one:
//! so the value is dropped after its last use.
//!
//! Tests: `crates/core/tests/loom/ref_count.rs`.

use crate::sys::atomic::{AtomicU64, Ordering::*, fence};
use crate::sys::mutant::{on, ord};
use crate::sys::thread::abort_with;

const ONE: u64 = 1;
const ONE_WEAK: u64 = 1 << 32;
/// The only reference, beside no weak one.
const ALONE: u64 = ONE | ONE_WEAK;
/// No program has so many: it forgets them, in a loop.
const TOO_MANY: u32 = 1 << 31;

/// See the module's header.
#[derive(Debug)]
pub struct RefCount(AtomicU64);

impl RefCount {
    /// Of a value that has so many references, at least one, and no weak one.
    #[inline]
    pub fn new(references: u32) -> RefCount {
        RefCount(AtomicU64::new(u64::from(references) | ONE_WEAK))
    }

    /// One more reference, made by who has one.
    #[inline]
    pub fn add(&self) {
        // Relaxed: as `Arc`: the new reference is handed on by other means.
        check(self.0.fetch_add(ONE, Relaxed));
    }

    /// One more, made by who has one that nobody else can use meanwhile: if that is the only one,
    /// by a store.
    #[inline]
    pub fn add_beside_own(&self) {
        // Acquire: pairs with the Release of those that have ended, as the store ends their release
        // sequence: who is the last sees no more of them.
        if self.0.load(ord(Acquire, "refs-own")) == ALONE {
            self.0.store(ALONE + ONE, Relaxed);
        } else {
            self.add();
        }
    }

    /// A reference ends. True: it was the last one. Then the caller drops the value, and ends the
    /// weak reference that all had together.
    #[inline]
    #[must_use]
    pub fn end(&self) -> bool {
        let word = self.0.load(ord(Acquire, "refs-alone"));
        // Nobody is left who could make another reference.
        if word == ALONE || on("refs-weak-forgotten") && word as u32 == 1 {
            self.0.store(word - ONE, Relaxed);
            return true;
        }
        // Release: pairs with the Acquire of the last one, here or above.
        if self.0.fetch_sub(ONE, ord(Release, "refs-end")) as u32 != 1 {
            return false;
        }
        if !on("refs-fence") {
            fence(Acquire);
        }
        true
    }

    /// One more weak reference, made by who has one of either kind.
    #[inline]
    pub fn add_weak(&self) {
        // Relaxed: as in `add`.
        check(self.0.fetch_add(ONE_WEAK, Relaxed) >> 32);
    }

    /// Is no reference left? Asked by who has a weak one; the answer "no" may be old.
    #[inline]
    pub fn is_gone(&self) -> bool {
        // Relaxed: nothing is read of the value, and who has none makes none.
        self.0.load(Relaxed) as u32 == 0
    }

    /// One more reference, made by who has a weak one. False: the value is gone, or going.
    #[inline]
    #[must_use]
    pub fn upgrade(&self) -> bool {
        let mut word = self.0.load(Relaxed);
        while word as u32 != 0 || on("refs-upgrade-gone") {
            check(word);
            // Acquire: as `Arc`: pairs with who made the value known by a reference that has ended.
            match self.0.compare_exchange_weak(word, word + ONE, Acquire, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// A weak reference ends. True: it was the last one, so the caller frees the memory.
    #[inline]
    #[must_use]
    pub fn end_weak(&self) -> bool {
        if self.0.load(ord(Acquire, "refs-weak-alone")) == ONE_WEAK {
            return true;
        }
        // Release: as in `end`.
        if self.0.fetch_sub(ONE_WEAK, ord(Release, "refs-weak-end")) != ONE_WEAK {
            return false;
        }
        if !on("refs-weak-fence") {
            fence(Acquire);
        }
        true
    }
}

/// More would go over from one half of the word into the other one, or be lost.
#[inline]
fn check(count: u64) {
    if count as u32 >= TOO_MANY {
        abort_with("two thousand million references to one value: some are forgotten, in a loop");
    }
}
