//! The biased lock: a lock that costs its usual user no read-modify-write.
//!
//! ```text
//!  owner:   in_op = lock; LIGHT; bias == my key -> inside; leave: in_op = null
//!  others:  take the word; bias = NOBODY; HEAVY; wait until the old owner's in_op != lock -> inside
//!  lease:   under the word, after a run of acquisitions by one worker: bias = the key of its turn
//!  bias:    under the word, by the worker whose lease, of an earlier turn, the lock still bears: bias = my key
//!  others, after that turn: take the word; the owner's key is another one -> inside
//! ```
//! It starts unbiased, and is leased for a turn after two acquisitions in a row by one worker. If
//! the worker meets its lease again in a later turn, or uses the lease in a turn that lasts, the
//! lock is biased for good; after a revocation only when it has met its leases 64 times in a row,
//! and twice as often after each further one. A revocation costs a heavy fence, 1 to 20 µs:
//! [`BiasOwner`] sees to it that they do not take more than a few per cent of the time, and can end
//! all biases of a worker by one. Who meets another worker's lease waits first for the end of that
//! worker's turn, for as long as the fence would take. A lease that is revoked in the middle of a
//! turn takes four times as many acquisitions the next time, one that was waited for twice as many;
//! each one that others find over takes half as many.
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
//! *A lease that ends by place* (the worker remembers which locks it leased, and clears their
//! biases): four places for a turn, and whoever drops a lock must look for it there.
//!
//! Tests: `tests/loom/biased.rs`.

use super::bias_owner::{BiasOwner, NOBODY, find, pause};
use crate::sys::atomic::{AtomicU8, AtomicU32, Ordering::*, Peek};
use crate::sys::cell::UnsafeCell;
use crate::sys::mutant::{on, ord};
use std::ptr::null_mut;

/// Acquisitions in a row that make a lease, as a power of two: at first, and at least.
const LEAST_THRESHOLD: u8 = 1;
/// The same at least, if a lease was refused for the fences of other locks. And leases in a row
/// that make a bias for good, once one has been revoked or refused.
const REFUSED_THRESHOLD: u8 = 6;
/// The most of both.
const MOST_THRESHOLD: u8 = 15;

/// A caller's number; 0 for a foreign thread.
fn number(me: Option<&'static BiasOwner>) -> u16 {
    me.map_or(0, |me| BiasOwner::number_of(me.key.load(Relaxed)))
}

/// Turns between two looks at a word that another thread has, at most: some 0.2 µs.
const MOST_REST: u32 = 4;
/// The same of a foreign thread, which has nothing else to do: 2 µs. Two of them at a channel fetch
/// the lock's line from each other less often then: 25 and 33 ns a message (unbounded, 1,000 slots)
/// instead of 52 and 54.
const MOST_FOREIGN_REST: u32 = 64;

/// See [`MOST_REST`].
fn most_rest(me: Option<&'static BiasOwner>) -> u32 {
    if me.is_some() { MOST_REST } else { MOST_FOREIGN_REST }
}

/// Who took the word last, and how often in a row. Under the word.
#[derive(Debug)]
struct Run {
    /// The number of a worker, or 0.
    last: u16,
    /// Acquisitions by the word in a row; of a lock that is leased, leases in a row.
    streak: u16,
    /// The streak that makes a lease is two to this power.
    lease_threshold: u8,
    /// The streak of leases that makes a bias for good is two to this power.
    bias_threshold: u8,
}

/// What a lock was that is now taken by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Unbiased,
    /// Leased to the caller, in an earlier turn.
    OwnLease,
    /// Leased to another worker, whose turn is over.
    Lease,
    /// Leased to another worker, for whose turn's end the caller has waited.
    AwaitedLease,
    /// Leased to another worker, in the middle of its turn.
    RevokedLease,
    /// Biased for good to another worker, or to this one with an old key.
    Bias,
}

impl Run {
    /// Under the word: one more acquisition, by `me`. What the lock is to bear from now on.
    #[inline(always)]
    fn next_bias(&mut self, end: End, me: Option<&'static BiasOwner>) -> Option<u32> {
        match end {
            End::Unbiased => {}
            End::OwnLease => {
                self.streak = self.streak.saturating_add(1);
                return self.next_lease(me?);
            }
            // Nothing was lost by it: the next one comes sooner, in the end at once.
            End::Lease => self.lease_threshold = self.lease_threshold.saturating_sub(1),
            End::AwaitedLease => self.lease_threshold = (self.lease_threshold + 1).min(MOST_THRESHOLD),
            End::RevokedLease => self.lease_threshold = (self.lease_threshold + 2).min(MOST_THRESHOLD),
            End::Bias => self.bias_threshold = (self.bias_threshold + 1).clamp(REFUSED_THRESHOLD, MOST_THRESHOLD),
        }
        let number = number(me);
        if end != End::Unbiased || self.last != number {
            (self.last, self.streak) = (number, 0);
        }
        self.streak = self.streak.saturating_add(1);
        let me = me.filter(|me| self.is_long_enough(self.lease_threshold, me))?;
        self.streak = 0;
        let lease = me.may_lease();
        if lease.is_none() {
            // Asks again after some more.
            self.lease_threshold = self.lease_threshold.max(REFUSED_THRESHOLD);
        }
        lease
    }

    fn is_long_enough(&self, threshold: u8, me: &BiasOwner) -> bool {
        self.streak >= 1 << threshold || self.streak >= 1 << LEAST_THRESHOLD && me.is_alone()
    }

    /// Its worker meets it again in a later turn.
    fn next_lease(&mut self, me: &'static BiasOwner) -> Option<u32> {
        if self.is_long_enough(self.bias_threshold, me) {
            self.streak = 0;
            match me.may_bias() {
                Some(key) => return Some(key),
                None => self.bias_threshold = self.bias_threshold.max(REFUSED_THRESHOLD),
            }
        }
        me.may_lease()
    }
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
                run: UnsafeCell::new(Run {
                    last: 0,
                    streak: 0,
                    lease_threshold: LEAST_THRESHOLD,
                    bias_threshold: 0,
                }),
                word: AtomicU8::new(0),
            }
        }
    }

    /// In a model: a lock biased to worker `number`, which needs `1 << threshold` acquisitions in a
    /// row for a lease, and as many leases for another bias.
    #[cfg(loom)]
    pub fn biased_to(number: u16, threshold: u8) -> BiasedLock {
        let lock = BiasedLock::new();
        lock.bias.store(u32::from(number), Relaxed);
        // SAFETY: nobody else has the lock.
        lock.run.with_mut(|run| unsafe {
            (*run).lease_threshold = threshold;
            (*run).bias_threshold = threshold;
        });
        lock
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_biased_to(&self, worker: &BiasOwner) -> bool {
        self.bias.load(Relaxed) == worker.key.load(Relaxed)
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn is_leased_to(&self, worker: &BiasOwner) -> bool {
        self.bias.load(Relaxed) == worker.lease.load(Relaxed)
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
        bias != NOBODY && !BiasOwner::is_lease(bias) && find(1).peek_settled() != bias
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
            && self.enter(me, BiasOwner::enters_at_once)
        {
            return BiasedGuard { lock: self, biased: Some(me) };
        }
        self.lock_slow(me)
    }

    /// Announces the operation and looks at the bias: the worker is in the lock if `enters` says
    /// so. (Not looked at before as well: the announcement costs two plain stores where the lock
    /// is not biased to the worker, and the look would cost each operation three instructions.)
    #[inline(always)]
    fn enter(&self, me: &'static BiasOwner, enters: impl Fn(&BiasOwner, u32) -> bool) -> bool {
        debug_assert!(me.in_op.load(Relaxed).is_null() || on("nested"), "a biased lock inside a biased lock");
        me.in_op.store(self.address(), ord(Release, "enter-release"));
        if !on("enter-light") {
            me.light();
        }
        // Relaxed: only we ourselves set the bias to us, so what came before is ordered by our own
        // program.
        if enters(me, self.bias.load(Relaxed)) {
            return true;
        }
        me.in_op.store(null_mut(), ord(Release, "leave-release"));
        false
    }

    #[inline(always)]
    fn address(&self) -> *mut () {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// By the word.
    #[cold]
    #[inline(never)]
    fn lock_slow(&self, me: Option<&'static BiasOwner>) -> BiasedGuard<'_> {
        if let Some(me) = me {
            me.counts_word();
        }
        self.take_word(most_rest(me));
        if self.bias.load(Relaxed) != NOBODY {
            return self.lock_biased(me);
        }
        self.stay_inside(End::Unbiased, me)
    }

    /// Under the word of a lock that is biased to somebody, perhaps to the caller.
    #[cold]
    #[inline(never)]
    fn lock_biased(&self, me: Option<&'static BiasOwner>) -> BiasedGuard<'_> {
        loop {
            let bias = self.bias.load(Relaxed);
            let Some(me) = me.filter(|me| me.enters(bias)) else {
                let end = self.end_bias(bias, me);
                return self.stay_inside(end, me);
            };
            // SAFETY: the word is taken, and what it guards is reached under it only.
            let was_revoked = self.run.with(|run| unsafe { (*run).bias_threshold } > 0);
            if BiasOwner::is_lease(bias)
                && me.is_sample()
                && !was_revoked
                && let Some(key) = me.may_bias()
            {
                self.bias.store(key, Relaxed);
                return BiasedGuard { lock: self, biased: None };
            }
            // It became ours (we set it in an earlier operation): enter as the owner does.
            self.give_word();
            if self.enter(me, BiasOwner::enters) {
                return BiasedGuard { lock: self, biased: Some(me) };
            }
            self.take_word(MOST_REST);
        }
    }

    /// Under the word: counts the acquisition, and stays inside by the word, also where the lock is
    /// biased from now on: whoever would revoke that needs the word first.
    #[inline(always)]
    fn stay_inside(&self, end: End, me: Option<&'static BiasOwner>) -> BiasedGuard<'_> {
        // SAFETY: the word is taken, and what it guards is reached under it only.
        let bias = self.run.with_mut(|run| unsafe { (*run).next_bias(end, me) });
        if let Some(key) = bias {
            self.bias.store(key, Relaxed);
        }
        BiasedGuard { lock: self, biased: None }
    }

    /// Under the word: ends this bias, if there is one. Afterwards its owner is outside, and the
    /// caller sees what it did.
    fn end_bias(&self, bias: u32, me: Option<&'static BiasOwner>) -> End {
        if bias == NOBODY {
            return End::Unbiased;
        }
        let owner = find(BiasOwner::number_of(bias));
        if BiasOwner::is_lease(bias) {
            let is_own = me.is_some_and(|me| std::ptr::eq(me, owner));
            // (Before the bias is wiped out: the owner goes on by it meanwhile.)
            let was_awaited = !is_own && owner.wait_for_end(bias);
            self.bias.store(NOBODY, Relaxed);
            if is_own {
                // Of an earlier turn.
                return End::OwnLease;
            }
            if owner.has_ended(bias) {
                return if was_awaited { End::AwaitedLease } else { End::Lease };
            }
            owner.evict(self.address(), true);
            return End::RevokedLease;
        }
        self.bias.store(NOBODY, Relaxed);
        if !owner.has_settled(bias) {
            owner.evict(self.address(), false);
        }
        End::Bias
    }

    #[inline(always)]
    fn take_word(&self, most_rest: u32) {
        // Acquire: pairs with the Release in `give_word`.
        if self.word.compare_exchange(0, 1, ord(Acquire, "word-acquire"), Relaxed).is_err() {
            self.take_contended_word(most_rest);
        }
    }

    /// Stays away for a while, twice as long each time: who has the word most often wants it again,
    /// and does much in one go if the line with the word is not taken away in between.
    #[cold]
    fn take_contended_word(&self, most_rest: u32) {
        let (mut spins, mut rest) = (0, 1);
        loop {
            for _ in 0..rest {
                pause(&mut spins);
            }
            rest = if cfg!(loom) { 1 } else { (2 * rest).min(most_rest) };
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
