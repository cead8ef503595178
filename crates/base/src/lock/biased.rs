//! The biased lock: a lock that costs its usual user no read-modify-write.
//!
//! ```text
//!  owner:   in_op = lock; LIGHT; bias == my key -> inside; leave: in_op = null
//!  others:  take the word; bias = NOBODY; HEAVY; wait until the old owner's in_op != lock -> inside
//!  re-bias: under the word, after a run of acquisitions by one worker: bias = my key
//! ```
//! It starts unbiased, biases after two acquisitions in a row by one worker, and doubles that
//! number at each revocation. A revocation costs a heavy fence, 1 to 20 µs: [`BiasOwner`] sees to
//! it that they do not take more than a few per cent of the time, and can end all biases of a
//! worker by one.
//!
//! **Invariants.** Mutual exclusion; each holder sees all that earlier ones did. `bias` is written
//! under the word only, and to a worker only by that worker. One `in_op` for each worker, so: *no
//! foreign code and no second biased lock inside, and nothing that may suspend or unwind.*
//!
//! **Ordering.** Owner against revoker: `in_op` | light | `bias` against `bias` | heavy | `in_op`.
//! What the owner did inside: `in_op` (Release at leaving, and at *entering* the next lock, since a
//! revoker that reads another lock's address concludes that we have left this one) with the
//! revoker's Acquire. `bias` needs no acquire: a worker set it itself. A bias with an old key has
//! been ended with all others: see [`super::bias_owner`].
//!
//! **Reuse.** `in_op` holds an address that is never dereferenced: a lock's memory may be freed
//! after its last unlock. The words of workers live for ever ([`BiasOwner`]), so a lock that is
//! biased to a worker long gone can be revoked, which costs nothing: a worker's end makes its key
//! an old one.
//!
//! **Rejected.** Bias at the first use: futures that migrate paid a revocation for each channel
//! (25.6 instead of 6.8 ns a hop). Bias after 16: short-lived channels never profit. Without
//! membarrier the entry's light fence would cost as much as it saves: then nothing is ever biased.
//!
//! Tests: `tests/loom/biased.rs`.

use super::bias_owner::{BiasOwner, NOBODY, find, pause};
use crate::sys::atomic::{AtomicU8, AtomicU32, Ordering::*, Peek};
use crate::sys::cell::UnsafeCell;
use crate::sys::mutant::{on, ord};
use std::ptr::null_mut;

/// Acquisitions in a row that make the first bias, as a power of two.
const FIRST_THRESHOLD: u8 = 1;
/// The same at least for the second, if the first was refused for the fences of other locks.
const REFUSED_THRESHOLD: u8 = 6;

/// A caller's number; 0 for a foreign thread.
fn number(me: Option<&'static BiasOwner>) -> u16 {
    me.map_or(0, |me| BiasOwner::number_of(me.key.load(Relaxed)))
}

/// Turns between two looks at a word that another thread has, at most: some 0.2 µs.
const MOST_REST: u32 = 4;

/// Who took the word last, and how often in a row. Under the word.
#[derive(Debug)]
struct Run {
    /// The number of a worker, or 0.
    last: u16,
    streak: u16,
    /// `streak` must reach two to this power.
    threshold: u8,
}

/// See the module's header.
#[derive(Debug)]
pub struct BiasedLock {
    bias: AtomicU32,
    run: UnsafeCell<Run>,
    word: AtomicU8,
}

// SAFETY: `run` is reached under the word only.
unsafe impl Sync for BiasedLock {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for BiasedLock {}

impl Default for BiasedLock {
    fn default() -> Self {
        BiasedLock::new()
    }
}

impl BiasedLock {
    crate::sys::const_fn! {
        /// An open lock, biased to nobody.
        pub const fn new() -> BiasedLock {
            BiasedLock {
                bias: AtomicU32::new(NOBODY),
                run: UnsafeCell::new(Run { last: 0, streak: 0, threshold: FIRST_THRESHOLD }),
                word: AtomicU8::new(0),
            }
        }
    }

    /// In a model: a lock biased to worker `number`, which needs `1 << threshold` acquisitions in a
    /// row to bias again.
    #[cfg(loom)]
    pub fn biased_to(number: u16, threshold: u8) -> BiasedLock {
        let lock = BiasedLock::new();
        lock.bias.store(u32::from(number), Relaxed);
        // SAFETY: nobody else has the lock.
        lock.run.with_mut(|run| unsafe { (*run).threshold = threshold });
        lock
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_biased_to(&self, worker: &BiasOwner) -> bool {
        self.bias.load(Relaxed) == worker.key.load(Relaxed)
    }

    /// In a model: nobody is preferred.
    #[cfg(loom)]
    pub fn unbias(&self) {
        self.bias.store(NOBODY, Relaxed);
    }

    /// In a model: does it bear a key that is not the settled one of worker 1?
    #[cfg(loom)]
    pub fn bears_old_key(&self) -> bool {
        let bias = self.bias.load(Relaxed);
        bias != NOBODY && find(1).peek_settled() != bias
    }

    /// Takes the lock. `me` is the calling worker's right, `None` for other threads. Spins, then
    /// yields the processor.
    ///
    /// # Safety
    /// `me` belongs to the calling thread. Until the guard is dropped, soon: no other biased lock
    /// is taken, no foreign code runs, and nothing suspends or unwinds.
    #[inline(always)]
    pub unsafe fn lock(&self, me: Option<&'static BiasOwner>) -> BiasedGuard<'_> {
        if let Some(me) = me
            && self.bias.load(Relaxed) == me.key.load(Relaxed)
            && self.enter(me)
        {
            return BiasedGuard { lock: self, biased: Some(me) };
        }
        self.lock_slow(me)
    }

    /// Announces the operation and looks at the bias.
    #[inline(always)]
    fn enter(&self, me: &'static BiasOwner) -> bool {
        debug_assert!(me.in_op.load(Relaxed).is_null() || on("nested"), "a biased lock inside a biased lock");
        me.in_op.store(self.address(), ord(Release, "enter-release"));
        if !on("enter-light") {
            me.fence.light();
        }
        // Relaxed: only we ourselves set the bias to us, so what came before is ordered by our own
        // program.
        if self.bias.load(Relaxed) == me.key.load(Relaxed) {
            return true;
        }
        me.in_op.store(null_mut(), ord(Release, "leave-release"));
        false
    }

    #[inline(always)]
    fn address(&self) -> *mut () {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, me: Option<&'static BiasOwner>) -> BiasedGuard<'_> {
        loop {
            self.take_word();
            let bias = self.bias.load(Relaxed);
            if bias == NOBODY {
                // SAFETY: the word is taken, and what it guards is reached under it only.
                self.run.with_mut(|run| unsafe { self.count(&mut *run, me) });
                return BiasedGuard { lock: self, biased: None };
            }
            if let Some(me) = me.filter(|me| bias == me.key.load(Relaxed)) {
                // It became ours (we set it in an earlier turn): enter as the owner does.
                self.give_word();
                if self.enter(me) {
                    return BiasedGuard { lock: self, biased: Some(me) };
                }
                continue;
            }
            self.revoke(bias);
            // SAFETY: the word is taken, and what it guards is reached under it only.
            self.run.with_mut(|run| unsafe {
                let threshold = ((*run).threshold + 1).min(16);
                *run = Run { last: number(me), streak: 1, threshold };
            });
            return BiasedGuard { lock: self, biased: None };
        }
    }

    /// Under the word: one more acquisition by `me`; enough in a row make the lock biased.
    fn count(&self, run: &mut Run, me: Option<&'static BiasOwner>) {
        match me {
            Some(worker) if run.last == number(me) => {
                run.streak = run.streak.saturating_add(1);
                if u32::from(run.streak) >= 1 << run.threshold {
                    run.streak = 0;
                    match worker.may_bias() {
                        // We stay inside by the word: who would revoke needs the word first.
                        Some(key) => self.bias.store(key, Relaxed),
                        // Asks again after some more.
                        None => run.threshold = run.threshold.max(REFUSED_THRESHOLD),
                    }
                }
            }
            _ => {
                run.last = number(me);
                run.streak = 1;
            }
        }
    }

    /// Under the word: ends the bias of another worker and waits until it is out. (Or of this one,
    /// by an old key.)
    fn revoke(&self, bias: u32) {
        let owner = find(BiasOwner::number_of(bias));
        self.bias.store(NOBODY, Relaxed);
        if !owner.has_settled(bias) {
            owner.evict(self.address());
        }
    }

    fn take_word(&self) {
        // Acquire: pairs with the Release in `give_word`.
        if self.word.compare_exchange(0, 1, ord(Acquire, "word-acquire"), Relaxed).is_err() {
            self.take_contended_word();
        }
    }

    /// Stays away for a while, twice as long each time: who has the word most often wants it again,
    /// and does much in one go if the line with the word is not taken away in between.
    #[cold]
    fn take_contended_word(&self) {
        let (mut spins, mut rest) = (0, 1);
        loop {
            for _ in 0..rest {
                pause(&mut spins);
            }
            rest = if cfg!(loom) { 1 } else { (2 * rest).min(MOST_REST) };
            // Acquire: as above.
            if self.word.peek(Relaxed) == 0
                && self.word.compare_exchange(0, 1, ord(Acquire, "word-acquire"), Relaxed).is_ok()
            {
                return;
            }
        }
    }

    #[inline(always)]
    fn give_word(&self) {
        self.word.store(0, ord(Release, "word-release"));
    }
}

/// The lock is held until this is dropped.
#[derive(Debug)]
pub struct BiasedGuard<'a> {
    lock: &'a BiasedLock,
    biased: Option<&'static BiasOwner>,
}

impl Drop for BiasedGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        match self.biased {
            // Release: pairs with the revoker's Acquire.
            Some(me) => me.in_op.store(null_mut(), ord(Release, "leave-release")),
            None => self.lock.give_word(),
        }
    }
}
