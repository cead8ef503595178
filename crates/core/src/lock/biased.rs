//! The biased lock: a lock that costs its usual user no read-modify-write.
//!
//! ```text
//!  owner:   in_op = lock; LIGHT; bias == me -> inside; leave: in_op = null
//!  others:  take the word; bias = NONE; HEAVY; wait until the old owner's in_op != lock -> inside
//!  re-bias: under the word, after a run of acquisitions by one worker: bias = me
//! ```
//! It starts unbiased, biases after two acquisitions in a row by one worker, and doubles that number at each revocation
//! (a revocation costs a heavy fence, some 2 µs).
//!
//! **Invariants.** Mutual exclusion; each holder sees all that earlier ones did. `bias` is written under the word only,
//! and to a worker only by that worker. One `in_op` for each worker, so: *no foreign code and no second biased lock
//! inside, and nothing that may suspend or unwind.*
//!
//! **Ordering.** Owner against revoker: `in_op` | light | `bias` against `bias` | heavy | `in_op`. What the owner did
//! inside: `in_op` (Release at leaving, and at *entering* the next lock, since a revoker that reads another lock's address
//! concludes that we have left this one) with the revoker's Acquire. `bias` needs no acquire: a worker set it itself.
//!
//! **Reuse.** `in_op` holds an address that is never dereferenced: a lock's memory may be freed after its last unlock.
//! The words of workers live for ever ([`Biaser`]), so a lock that is biased to a worker long gone can be revoked; a new
//! worker with the same number inherits the bias, which is safe: the number went from one to the other under a lock.
//!
//! **Rejected.** Bias at the first use: futures that migrate paid a revocation for each channel (25.6 instead of 6.8 ns a
//! hop). Bias after 16: short-lived channels never profit. Without membarrier the entry's light fence would cost as much
//! as it saves: then nothing is ever biased.
//!
//! Tests: `tests/loom_biased.rs`.

use crate::sys::atomic::{AtomicPtr, AtomicU8, AtomicU16, Ordering::*, Peek};
use crate::sys::cell::UnsafeCell;
use crate::sys::fence::{Fence, heavy};
use crate::sys::mutant::{on, ord};
use std::ptr::null_mut;

/// Nobody's number.
const NONE: u16 = 0;
/// Acquisitions in a row that make the first bias, as a power of two.
const FIRST_THRESHOLD: u8 = 1;

/// A worker's right to be preferred by locks. Lives for ever.
#[derive(Debug)]
#[repr(align(128))]
pub struct Biaser {
    number: u16,
    /// The biased lock that its worker is in.
    in_op: AtomicPtr<()>,
    fence: Fence,
    /// Are biases worth while here?
    biases: bool,
}

impl Biaser {
    /// Number `number`, not 0, is this one's for ever.
    pub fn new(number: u16, fence: Fence, biases: bool) -> Biaser {
        assert_ne!(number, NONE);
        Biaser { number, in_op: AtomicPtr::new(null_mut()), fence, biases }
    }
}

/// Finds a worker's `Biaser` by its number.
#[cfg(not(loom))]
pub use registry::{give_back, take};

#[cfg(not(loom))]
mod registry {
    use super::{Biaser, Fence};
    use crate::sys::fence::membarrier_works;
    use std::sync::{Mutex, OnceLock};

    /// At most this many workers are preferred at a time; the others always go by the word.
    const MOST: usize = 1024;
    static ALL: [OnceLock<Biaser>; MOST] = [const { OnceLock::new() }; MOST];
    /// Numbers given back, and how many were ever taken.
    static FREE: Mutex<(Vec<u16>, u16)> = Mutex::new((Vec::new(), 0));

    /// A number for a new worker; `None` when all are taken.
    pub fn take() -> Option<&'static Biaser> {
        let mut free = FREE.lock().unwrap_or_else(|e| e.into_inner());
        let number = free.0.pop().or_else(|| {
            (usize::from(free.1) + 1 < MOST).then(|| {
                free.1 += 1;
                free.1
            })
        })?;
        Some(ALL[usize::from(number)].get_or_init(|| Biaser::new(number, Fence::new(0), membarrier_works())))
    }

    /// The worker has ended; another may have its number.
    pub fn give_back(biaser: &'static Biaser) {
        FREE.lock().unwrap_or_else(|e| e.into_inner()).0.push(biaser.number);
    }

    pub(super) fn find(number: u16) -> &'static Biaser {
        ALL[usize::from(number)].get().expect("a lock is biased to a number that was taken")
    }
}

#[cfg(loom)]
mod registry {
    use super::{Biaser, Fence};
    loom::lazy_static! {
        static ref ALL: [Biaser; 3] = std::array::from_fn(|i| Biaser::new(i as u16 + 1, Fence::new(i), true));
    }
    /// In a model: the worker of this number, from 1.
    pub fn find(number: u16) -> &'static Biaser {
        // SAFETY: loom drops its lazies only after the execution has ended, and no reference outlives that.
        unsafe { std::mem::transmute::<&Biaser, &'static Biaser>(&ALL[usize::from(number) - 1]) }
    }
}
#[cfg(loom)]
pub use registry::find;

/// Who took the word last, and how often in a row. Under the word.
#[derive(Debug)]
struct Run {
    last: u16,
    streak: u16,
    /// `streak` must reach two to this power.
    threshold: u8,
}

/// See the module's header.
#[derive(Debug)]
pub struct BiasedLock {
    bias: AtomicU16,
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
    /// An open lock, biased to nobody.
    pub fn new() -> BiasedLock {
        BiasedLock {
            bias: AtomicU16::new(NONE),
            run: UnsafeCell::new(Run { last: NONE, streak: 0, threshold: FIRST_THRESHOLD }),
            word: AtomicU8::new(0),
        }
    }

    /// In a model: a lock biased to worker `number`, which needs `1 << threshold` acquisitions in a row to bias again.
    #[cfg(loom)]
    pub fn biased_to(number: u16, threshold: u8) -> BiasedLock {
        let lock = BiasedLock::new();
        lock.bias.store(number, Relaxed);
        // SAFETY: nobody else has the lock.
        lock.run.with_mut(|run| unsafe { (*run).threshold = threshold });
        lock
    }

    /// Takes the lock. `me` is the calling worker's right, `None` for other threads. Spins, then yields the processor.
    ///
    /// # Safety
    /// `me` belongs to the calling thread. Until the guard is dropped, soon: no other biased lock is taken, no foreign
    /// code runs, and nothing suspends or unwinds.
    #[inline(always)]
    pub unsafe fn lock(&self, me: Option<&'static Biaser>) -> BiasedGuard<'_> {
        if let Some(me) = me
            && self.bias.load(Relaxed) == me.number
            && self.enter(me)
        {
            return BiasedGuard { lock: self, biased: Some(me) };
        }
        self.lock_slow(me)
    }

    /// Announces the operation and looks at the bias.
    #[inline(always)]
    fn enter(&self, me: &'static Biaser) -> bool {
        debug_assert!(me.in_op.load(Relaxed).is_null() || on("nested"), "a biased lock inside a biased lock");
        me.in_op.store(self.address(), ord(Release, "enter-release"));
        if !on("enter-light") {
            me.fence.light();
        }
        // Relaxed: only we ourselves set the bias to us, so what came before is ordered by our own program.
        if self.bias.load(Relaxed) == me.number {
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
    fn lock_slow(&self, me: Option<&'static Biaser>) -> BiasedGuard<'_> {
        let mine = me.map_or(NONE, |me| me.number);
        loop {
            self.take_word();
            let bias = self.bias.load(Relaxed);
            if bias == NONE {
                // SAFETY: under the word.
                self.run.with_mut(|run| unsafe { self.count(&mut *run, me) });
                return BiasedGuard { lock: self, biased: None };
            }
            if let Some(me) = me.filter(|me| bias == me.number) {
                // It became ours (we set it in an earlier turn): enter as the owner does.
                self.give_word();
                if self.enter(me) {
                    return BiasedGuard { lock: self, biased: Some(me) };
                }
                continue;
            }
            self.revoke(bias);
            // SAFETY: under the word.
            self.run.with_mut(|run| unsafe {
                let threshold = ((*run).threshold + 1).min(16);
                *run = Run { last: mine, streak: 1, threshold };
            });
            return BiasedGuard { lock: self, biased: None };
        }
    }

    /// Under the word: one more acquisition by `me`; enough in a row make the lock biased.
    fn count(&self, run: &mut Run, me: Option<&'static Biaser>) {
        match me {
            Some(me) if run.last == me.number => {
                run.streak = run.streak.saturating_add(1);
                if me.biases && u32::from(run.streak) >= 1 << run.threshold {
                    run.streak = 0;
                    // We stay inside by the word: who would revoke needs the word first.
                    self.bias.store(me.number, Relaxed);
                }
            }
            _ => {
                run.last = me.map_or(NONE, |me| me.number);
                run.streak = 1;
            }
        }
    }

    /// Under the word: ends the bias of another worker and waits until it is out.
    fn revoke(&self, bias: u16) {
        let owner = registry::find(bias);
        self.bias.store(NONE, Relaxed);
        if !on("revoke-no-heavy") {
            heavy();
        }
        let mut spins = 0u32;
        // Acquire: what the owner did inside.
        while !on("revoke-no-wait") && owner.in_op.peek(ord(Acquire, "revoke-acquire")) == self.address() {
            pause(&mut spins);
        }
    }

    fn take_word(&self) {
        let mut spins = 0;
        // Acquire: pairs with the Release in `give_word`.
        while self.word.compare_exchange(0, 1, ord(Acquire, "word-acquire"), Relaxed).is_err() {
            while self.word.peek(Relaxed) != 0 {
                pause(&mut spins);
            }
        }
    }

    #[inline(always)]
    fn give_word(&self) {
        self.word.store(0, ord(Release, "word-release"));
    }
}

/// One turn of a spin loop: the processor's hint, now and then a yield.
fn pause(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(256) || cfg!(loom) {
        crate::sys::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// The lock is held until this is dropped.
#[derive(Debug)]
pub struct BiasedGuard<'a> {
    lock: &'a BiasedLock,
    biased: Option<&'static Biaser>,
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
