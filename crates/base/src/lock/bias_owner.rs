//! Whom biased locks prefer: a worker's right, the end of all its biases at once, and what ending
//! them may cost.
//!
//! A lock is biased to a *key*: a worker's number and how often all biases of that number have been
//! ended. To end one bias takes a heavy fence, which costs from 1 to 20 µs (dear in virtual
//! machines, whose processors interrupt each other by way of the host). To end *all* biases of a
//! worker takes one heavy fence too (it *revokes all*): its key changes, and locks that bear an old
//! key are taken by their word alone. A million channels that one worker filled and another empties
//! cost one fence instead of a million (14 s of them, on such a machine).
//!
//! **What it may cost.** Each fence is timed, and each wait for the end of a turn. As long as these
//! took more than a sixteenth of a worker's time, no lock becomes biased to it; and if they come so
//! fast that it is deep in debt, the next one revokes all. So the worst case costs a few per cent,
//! whatever a fence costs and whatever the program does; and who never shares a lock pays nothing.
//!
//! **Leases.** (A *turn* ends where a future's poll ends, where the loop looks around, each 61st
//! turn of it, and where the loop finds nothing to do.) The first bias of a lock to a worker is a
//! *lease*: it ends with the worker's turn, by one plain store for all leases of the turn
//! ([`BiasOwner::end_turn`]), and whoever finds it over takes the lock by its word, without a
//! fence. Locks bear the lease's own key, which changes with each turn that made one. Only a lock
//! that its worker meets again, turn after turn, becomes biased for good; or one that is used in a
//! turn which lasts from one look of the monitor to the next (`sample_long_turns`), if its bias
//! was never revoked. So tasks that move from worker to worker take their locks with them for
//! nothing. (With biases for good alone, from 34 to 80 % of the lock operations of tasks that talk
//! went by the word on two workers: each change of the worker cost a fence, and the debt forbade
//! new biases.) A lease is also given to a worker in debt, as most of them cost no fence; not in
//! deep debt. (Rejected: a count of the operations by leases in a turn, which each of them had to
//! lower by one, in place of the monitor's look: six instructions for each.)
//!
//! **Invariants.** (B1) `key` changes only under `revoking_all`, or by its own worker. (B2) No lock
//! becomes biased to a key that is not settled: so from the change of `key` until it is settled its
//! worker is in no lock by a bias, or on its way out. (B3) `settled` goes to a new key only after
//! the worker was seen out of all locks since a heavy fence after the change of `key`: whoever
//! acquires it sees what was done under older keys. (B4) `lease` changes only by its own worker,
//! outside of all locks. `entry` is `lease` or `SAMPLE`: the latter only sends an operation the
//! long way, so it may be lost or late.
//!
//! **Ordering.** Revoking all against entering: `key` | heavy | `in_op` against `in_op` | light |
//! `key`: as for one lock's bias. `settled` (Release) with the Acquire of who finds an older key in
//! a lock: the worker's operations under that key. `lease` (Release, at the turn's end) with the
//! Acquire of who finds an older lease in a lock: in the same way.
//!
//! **The end of a number's epochs.** A lock that bears a key that has changed 2 million times since
//! may be taken for one that is biased now, rightly so: nobody has had it in the meantime, for
//! taking it wipes the key out.

#[cfg(not(loom))]
use crate::sys::atomic::compiler_fence;
use crate::sys::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*, Peek};
use crate::sys::choice::ticks;
#[cfg(loom)]
use crate::sys::fence::Fence;
use crate::sys::fence::heavy;
use crate::sys::mutant::{on, ord};
use std::ptr::null_mut;

/// Nobody's key.
pub(super) const NOBODY: u32 = 0;
/// The part of a key that is the number.
pub const NUMBER: u32 = (1 << 10) - 1;
/// In a key: it is that of a lease.
const LEASE: u32 = NUMBER + 1;
/// In place of a lease's key, where the next operation by a lease is to look whether its lock
/// should be biased for good. No lock bears it, for it has nobody's number.
const SAMPLE: u32 = LEASE;
/// From one key of a number to the next.
const NEXT: u32 = 2 * LEASE;
/// Fences may take this part of the time.
const SHARE: u64 = 16;
/// So many fences at once are not yet a debt that should end all biases.
#[cfg(not(loom))]
const PATIENCE: u64 = 4;

/// A worker's right to be preferred by locks. Lives for ever.
#[derive(Debug)]
#[repr(align(128))]
pub struct BiasOwner {
    /// What locks that are biased to it bear now.
    pub(super) key: AtomicU32,
    /// What locks bear that are leased to it for this turn.
    pub(super) lease: AtomicU32,
    /// A lock bears that key. Its worker's alone.
    leased: AtomicBool,
    /// Which leased locks its worker enters at once: those that bear `lease`; or none, at the next
    /// operation ([`SAMPLE`], which others set).
    entry: AtomicU32,
    /// Which lease stood at the monitor's last look.
    #[cfg(not(loom))]
    seen: AtomicU32,
    /// The biased lock that its worker is in.
    pub(super) in_op: AtomicPtr<()>,
    #[cfg(loom)]
    fence: Fence,
    /// Are biases worth while here?
    biases: bool,
    /// All biases of older keys have ended.
    settled: AtomicU32,
    /// Somebody changes the key.
    revoking_all: AtomicBool,
    /// Until then, in [`ticks`], its fences have taken more than their share of the time.
    in_debt_until: AtomicU64,
    /// Others hardly use what its worker uses. Not in a model, where it is no step.
    alone: std::sync::atomic::AtomicBool,
    /// Until then nobody waits for the end of its leases: who did so last waited in vain. So where
    /// turns are long this takes a sixteenth of the time at most.
    in_vain_until: AtomicU64,
    /// Operations of its worker that went by a lock's word. Its worker's alone, for tests; not in a
    /// model, where each look at a word is a step.
    by_word: std::sync::atomic::AtomicU64,
}

impl BiasOwner {
    /// Number `number`, not 0, is this one's for ever. `biases`: heavy fences meet its worker.
    fn new(number: u16, biases: bool) -> BiasOwner {
        let number = u32::from(number);
        assert!(number != NOBODY && number <= NUMBER);
        BiasOwner {
            key: AtomicU32::new(number),
            lease: AtomicU32::new(number | LEASE),
            leased: AtomicBool::new(false),
            entry: AtomicU32::new(entry(number | LEASE)),
            #[cfg(not(loom))]
            seen: AtomicU32::new(NOBODY),
            in_op: AtomicPtr::new(null_mut()),
            #[cfg(loom)]
            fence: Fence::new(usize::from(Self::number_of(number)) - 1),
            biases,
            settled: AtomicU32::new(number),
            revoking_all: AtomicBool::new(false),
            in_debt_until: AtomicU64::new(0),
            alone: false.into(),
            in_vain_until: AtomicU64::new(0),
            by_word: 0.into(),
        }
    }

    /// The number in a key.
    pub(super) fn number_of(key: u32) -> u16 {
        (key & NUMBER) as u16
    }

    /// Does its worker, which is the calling thread, enter a lock that bears this?
    #[inline(always)]
    pub(super) fn enters(&self, bias: u32) -> bool {
        if bias == self.key.load(Relaxed) {
            return true;
        }
        // (Else the compiler makes both comparisons always, and one word of their results.)
        seldom();
        bias == self.lease.load(Relaxed)
    }

    /// The same before an operation; one that is to be a sample is not let in.
    #[inline(always)]
    pub(super) fn enters_at_once(&self, bias: u32) -> bool {
        if bias == self.key.load(Relaxed) {
            return true;
        }
        seldom();
        bias == self.entry.load(Relaxed)
    }

    /// Between the announcement of an operation and the look at the lock's bias; pairs with
    /// [`heavy`].
    #[inline(always)]
    pub(super) fn light(&self) {
        #[cfg(loom)]
        self.fence.light();
        // Where a fence for the compiler is not enough, no lock is ever biased: what is read next
        // lets nobody in.
        #[cfg(not(loom))]
        compiler_fence(SeqCst);
    }

    /// For an operation by a lease that went the long way: is it a sample?
    pub(super) fn is_sample(&self) -> bool {
        let lease = self.lease.load(Relaxed);
        let is_sample = self.entry.load(Relaxed) != lease;
        if is_sample {
            self.entry.store(lease, Relaxed);
        }
        is_sample
    }

    /// The monitor looks: if its worker's turn has lasted since the last look, the next operation
    /// by a lease is a sample.
    #[cfg(not(loom))]
    pub(super) fn sample_long_turn(&self) {
        // Relaxed: a hint.
        let lease = self.lease.load(Relaxed);
        if self.leased.load(Relaxed) && self.seen.swap(lease, Relaxed) == lease {
            self.entry.store(SAMPLE, Relaxed);
        }
    }

    /// Is it the key of a lease?
    pub(super) fn is_lease(key: u32) -> bool {
        key & LEASE != 0
    }

    /// An operation of its worker goes by a lock's word.
    pub(super) fn counts_word(&self) {
        self.by_word.store(self.by_word.load(Relaxed) + 1, Relaxed);
    }

    /// From now on others hardly use what its worker uses, or they do again. Meanwhile locks forget
    /// what others have cost them: two acquisitions make a lease, and two leases a bias for good.
    /// (Else a thousand channels that two workers have used are as fast as before for one of them
    /// only after some ten milliseconds.)
    pub fn set_alone(&self, alone: bool) {
        // Relaxed, all: hints.
        if alone && !self.alone.load(Relaxed) {
            self.in_debt_until.store(0, Relaxed);
        }
        self.alone.store(alone, Relaxed);
    }

    /// See [`set_alone`](Self::set_alone).
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Relaxed)
    }

    /// For a lock that its worker has by the word: may it be leased, and with which key?
    pub(super) fn may_lease(&self) -> Option<u32> {
        // (Who never had debts is not asked for the time.)
        let has_none = cfg!(loom) || self.in_debt_until.load(Relaxed) == 0;
        (self.biases && (has_none || !self.is_deep_in_debt(ticks()))).then(|| {
            self.leased.store(true, Relaxed);
            self.lease.load(Relaxed)
        })
    }

    /// Its worker, which is the calling thread and in no biased lock, comes to the end of a turn:
    /// all leases end.
    ///
    /// # Safety
    /// The right is the calling thread's, which is in no biased lock.
    #[inline(always)]
    pub unsafe fn end_turn(&self) {
        if self.leased.load(Relaxed) {
            // SAFETY: this function's contract.
            unsafe { self.end_leases() };
        }
    }

    /// # Safety
    /// As for [`end_turn`](Self::end_turn).
    #[inline(never)]
    unsafe fn end_leases(&self) {
        debug_assert!(self.in_op.load(Relaxed).is_null(), "the end of a turn inside a biased lock");
        self.leased.store(false, Relaxed);
        let lease = self.lease.load(Relaxed).wrapping_add(NEXT);
        // Release: pairs with the Acquire in `has_ended`: what the worker did inside.
        self.lease.store(lease, ord(Release, "lease-release"));
        self.entry.store(entry(lease), Relaxed);
    }

    /// Has this lease of its worker ended?
    pub(super) fn has_ended(&self, lease: u32) -> bool {
        // Acquire: pairs with the Release in `end_leases`.
        let now = self.lease.load(ord(Acquire, "lease-acquire"));
        // Keys go round. Of one that is more than half the way behind nobody may say that its owner
        // will not have it again just now: that takes a fence.
        now.wrapping_sub(lease).cast_signed() > 0 || on("lease-ends-at-once")
    }

    /// Waits until this lease has ended, for as long at most as the fence takes that ends it in the
    /// middle of its turn. Has it ended by that?
    ///
    /// A turn of a task that talks is mostly shorter than a fence: a stage of a pipeline fills a
    /// channel of 64 slots in a microsecond. (With the fence at once, neighbours on two workers
    /// fought for each message, and the debts forbade leases: a quarter of all lock operations
    /// went by the word, and a hop took 29 ns instead of 20: `docs/BENCHMARKS.md`.) The time counts
    /// as that of a fence does: tasks that all use one channel had better have no leases. (Where it
    /// did not count, futures of `hub` and `alltoall` took 13 and 20 % longer.)
    #[cold]
    #[inline(never)]
    pub(super) fn wait_for_end(&self, lease: u32) -> bool {
        // (In a model it is no step.)
        if cfg!(loom) || self.has_ended(lease) {
            return false;
        }
        let (began, most) = (ticks(), crate::sys::fence::heavy_ticks());
        if began < self.in_vain_until.load(Relaxed) {
            return false;
        }
        let mut has_ended = false;
        while !has_ended && ticks().saturating_sub(began) < most {
            std::hint::spin_loop();
            has_ended = self.has_ended(lease);
        }
        self.owe_since(began);
        if !has_ended {
            // Relaxed: an estimate.
            self.in_vain_until.store(began + (1 + SHARE) * most, Relaxed);
        }
        has_ended
    }

    /// What ended its biases, or waited for their end, has taken the time since then.
    fn owe_since(&self, began: u64) {
        // A thread that was preempted meanwhile counts like four fences at most: else one such time
        // of milliseconds keeps all locks of the worker to their words for 16 times as long.
        let cost = ticks().saturating_sub(began).min(4 * crate::sys::fence::heavy_ticks());
        // Relaxed, and lost updates do not matter: an estimate.
        let debt = self.in_debt_until.load(Relaxed).max(began);
        self.in_debt_until.store(debt + SHARE * cost, Relaxed);
    }

    /// For a lock that its worker has by the word: may it become biased, and with which key?
    pub(super) fn may_bias(&self) -> Option<u32> {
        let key = self.key.load(Relaxed);
        // (B2). Relaxed: `settled` only says that nobody is at it; the bias is set under the word.
        let is_settled = self.settled.load(Relaxed) == key || on("bias-unsettled");
        (self.biases && is_settled && !self.is_in_debt()).then_some(key)
    }

    /// Until when, in [`ticks`], fences that ended its biases took more than their share.
    #[cfg(all(test, not(loom)))]
    pub(super) fn debt(&self) -> u64 {
        self.in_debt_until.load(Relaxed)
    }

    #[cfg(loom)]
    pub(super) fn peek_settled(&self) -> u32 {
        self.settled.load(Relaxed)
    }

    fn is_in_debt(&self) -> bool {
        if cfg!(loom) {
            return false;
        }
        let until = self.in_debt_until.load(Relaxed);
        until != 0 && ticks() < until
    }

    /// Is the worker out of all locks that bear this older key?
    pub(super) fn has_settled(&self, key: u32) -> bool {
        // Acquire: pairs with the Release in `revoke_all`: what the worker did inside.
        self.settled.load(ord(Acquire, "settled-acquire")) != key || on("settled-always")
    }

    /// Ends what this worker has of a lock at `address`, whose bias the caller has wiped out under
    /// its word: waits until it is out. Or all its biases for good at once, if there were too many
    /// such waits of late.
    pub(super) fn evict(&self, address: *mut (), is_lease: bool) {
        let began = if cfg!(loom) { 0 } else { ticks() };
        if is_lease || !(self.is_deep_in_debt(began) && self.revoke_all()) {
            if !on("revoke-no-heavy") {
                heavy();
            }
            let mut spins = 0;
            // Acquire: what the worker did inside.
            while !on("revoke-no-wait") && self.in_op.peek(ord(Acquire, "revoke-acquire")) == address {
                pause(&mut spins);
            }
        }
        if !cfg!(loom) {
            self.owe_since(began);
        }
    }

    fn is_deep_in_debt(&self, _now: u64) -> bool {
        #[cfg(loom)]
        return REVOKES_ALL.get();
        #[cfg(not(loom))]
        {
            let debt = self.in_debt_until.load(Relaxed).saturating_sub(_now);
            debt > SHARE * PATIENCE * crate::sys::fence::heavy_ticks()
        }
    }

    /// Ends all biases to this worker. False: somebody else is at it.
    fn revoke_all(&self) -> bool {
        // Acquire: pairs with the Release below: the key that the last one left.
        if self.revoking_all.compare_exchange(false, true, Acquire, Relaxed).is_err() {
            return false;
        }
        let key = self.key.load(Relaxed).wrapping_add(NEXT);
        self.key.store(key, Relaxed);
        if !on("revoke-all-no-heavy") {
            heavy();
        }
        let mut spins = 0;
        // Null, not only another address: it may be in any lock. It comes to an end, for nothing is
        // biased to the new key (B2); between operations on leased locks it is seen outside, too.
        // Acquire: what the worker did inside, in this lock or any other one before.
        while !on("revoke-all-no-wait") && !self.in_op.peek(ord(Acquire, "revoke-all-acquire")).is_null() {
            pause(&mut spins);
        }
        self.settled.store(key, ord(Release, "settled-release"));
        self.revoking_all.store(false, Release);
        true
    }

    /// Its worker ends, and calls this: no lock is biased to it any more. No fence: the worker is
    /// in none.
    ///
    /// # Safety
    /// The right is the calling thread's, which is in no biased lock.
    #[cfg(not(loom))]
    unsafe fn renounce(&self) {
        debug_assert!(self.in_op.load(Relaxed).is_null());
        // SAFETY: this function's contract.
        unsafe { self.end_turn() };
        if self.revoking_all.compare_exchange(false, true, Acquire, Relaxed).is_ok() {
            let key = self.key.load(Relaxed).wrapping_add(NEXT);
            self.key.store(key, Relaxed);
            // Release: what the worker did inside, which is this thread.
            self.settled.store(key, Release);
            self.revoking_all.store(false, Release);
        }
    }
}

/// Tells the compiler that the way to here is not the usual one.
#[cold]
#[inline]
fn seldom() {}

/// One turn of a spin loop: the processor's hint, now and then a yield.
#[inline]
pub fn pause(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(256) || cfg!(loom) {
        crate::sys::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// What lets a worker in at once to locks that bear this lease.
fn entry(lease: u32) -> u32 {
    #[cfg(loom)]
    return if LONG_TURNS.get() { SAMPLE } else { lease };
    #[cfg(not(loom))]
    lease
}

#[cfg(loom)]
thread_local! {
    static LONG_TURNS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
    static REVOKES_ALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// In a model: from now on each turn is a long one, or none is.
#[cfg(loom)]
pub fn set_long_turns(yes: bool) {
    LONG_TURNS.set(yes);
}

/// In a model: from now on each eviction revokes all, or none.
#[cfg(loom)]
pub fn set_revoke_all(yes: bool) {
    REVOKES_ALL.set(yes);
}

#[cfg(not(loom))]
pub use registry::{FreeNumbers, give_back, lock_free, operations_by_word, sample_long_turns, take};

#[cfg(not(loom))]
mod registry {
    use super::{BiasOwner, NUMBER};
    use crate::sys::fence::membarrier_works;
    use crate::sys::mutex::{Mutex, MutexGuard};
    use std::sync::OnceLock;

    /// At most this many workers are preferred at a time; the others always go by the word.
    const MOST: usize = NUMBER as usize + 1;
    static ALL: [OnceLock<BiasOwner>; MOST] = [const { OnceLock::new() }; MOST];
    /// Numbers given back, and how many were ever taken.
    static FREE: Mutex<(Vec<u16>, u16)> = Mutex::new((Vec::new(), 0));

    /// The locked list of free numbers.
    #[derive(Debug)]
    #[must_use = "the list is locked as long as this stands"]
    pub struct FreeNumbers {
        list: MutexGuard<'static, (Vec<u16>, u16)>,
    }

    /// Locks the list of free numbers. (A `fork` must find that no other thread is changing the
    /// list.)
    pub fn lock_free() -> FreeNumbers {
        FreeNumbers { list: FREE.lock() }
    }

    /// A number for a new worker; `None` when all are taken.
    pub fn take() -> Option<&'static BiasOwner> {
        let mut free = lock_free().list;
        let number = free.0.pop().or_else(|| {
            (usize::from(free.1) + 1 < MOST).then(|| {
                free.1 += 1;
                free.1
            })
        })?;
        Some(ALL[usize::from(number)].get_or_init(|| BiasOwner::new(number, membarrier_works())))
    }

    /// The worker ends, on the calling thread; another may have its number.
    ///
    /// # Safety
    /// The right came from [`take`], is the calling thread's, and is used no more. The thread is in
    /// no biased lock.
    pub unsafe fn give_back(bias_owner: &'static BiasOwner) {
        let number = BiasOwner::number_of(bias_owner.key.load(super::Relaxed));
        bias_owner.set_alone(false);
        // SAFETY: the calling thread has the right, and is in no biased lock, as this function's
        // contract says.
        unsafe { bias_owner.renounce() };
        lock_free().list.0.push(number);
    }

    /// How many operations of workers have gone by a lock's word so far, in this process: what
    /// costs a read-modify-write. Those of other threads are not counted.
    pub fn operations_by_word() -> u64 {
        ALL.iter().filter_map(OnceLock::get).map(|owner| owner.by_word.load(super::Relaxed)).sum()
    }

    /// The monitor looks at all workers: a lock that is used in a turn which has lasted since the
    /// last look is to be biased for good.
    pub fn sample_long_turns() {
        // Numbers are taken from 1 on.
        ALL[1..].iter().map_while(OnceLock::get).for_each(BiasOwner::sample_long_turn);
    }

    pub(in crate::lock) fn find(number: u16) -> &'static BiasOwner {
        ALL[usize::from(number)].get().expect("a lock is biased to a number that was taken")
    }
}

#[cfg(loom)]
mod registry {
    use super::BiasOwner;
    loom::lazy_static! {
        static ref ALL: [BiasOwner; 3] = std::array::from_fn(|i| BiasOwner::new(i as u16 + 1, true));
    }
    /// In a model: the worker of this number, from 1.
    pub fn find(number: u16) -> &'static BiasOwner {
        // SAFETY: loom drops its lazies only after the execution has ended, and no reference
        // outlives that.
        unsafe { std::mem::transmute::<&BiasOwner, &'static BiasOwner>(&ALL[usize::from(number) - 1]) }
    }
}
#[cfg(not(loom))]
pub(super) use registry::find;
#[cfg(loom)]
pub use registry::find;
