//! The wheel of a worker's timers, and its lock. It knows no worker: who locks brings the owner of
//! the bias.

use myriad_base::lock::bias_owner::BiasOwner;
use myriad_base::lock::biased::{BiasedGuard, BiasedLock};
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::clock::Instant;
use myriad_base::wheel::{Supply, TimerNode, Wheel};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Timers {
    lock: BiasedLock,
    wheel: UnsafeCell<Wheel>,
    /// The wheel has its memory. Written under the lock.
    supplied: AtomicBool,
    /// When something is due next, in nanoseconds; written under the lock.
    next: AtomicU64,
    /// How many timers are in the wheel; written under the lock, for whoever reads metrics.
    pending: AtomicUsize,
}

// SAFETY: the wheel is reached under the lock only.
unsafe impl Sync for Timers {}

impl Default for Timers {
    fn default() -> Self {
        Timers {
            lock: BiasedLock::new(),
            wheel: UnsafeCell::new(Wheel::new(0)),
            supplied: AtomicBool::new(false),
            next: AtomicU64::new(u64::MAX),
            pending: AtomicUsize::new(0),
        }
    }
}

/// The wheel, locked.
pub(crate) struct Locked<'a> {
    timers: &'a Timers,
    _guard: BiasedGuard<'a>,
}

impl Locked<'_> {
    #[allow(clippy::mut_from_ref)]
    pub(super) fn wheel(&self) -> &mut Wheel {
        // SAFETY: the guard is held, and each reference lives for one call only.
        unsafe { &mut *self.timers.wheel.get() }
    }
    pub(super) fn publish_next(&self) {
        self.timers.next.store(self.wheel().next_event().unwrap_or(u64::MAX), Relaxed);
        self.timers.pending.store(self.wheel().len(), Relaxed);
    }
    /// Takes a timer out; false if it has fired.
    ///
    /// # Safety
    /// `node` is alive, and if it is in a wheel, it is in this one.
    pub(crate) unsafe fn remove(&self, node: *mut TimerNode) -> bool {
        // SAFETY: the node is alive, and in no other wheel than this one (this function's
        // contract).
        let removed = unsafe { self.wheel().remove(node) };
        self.publish_next();
        removed
    }
}

/// The wheel, locked, when it has its memory: a timer is set through this alone, so that nothing is
/// allocated under the lock.
pub(crate) struct Supplied<'a>(Locked<'a>);

impl Supplied<'_> {
    /// Sets a timer. True: it is the earliest, and the caller calls `Timers::announce` without
    /// the lock.
    ///
    /// # Safety
    /// `node` is in no wheel. Until it was removed, or has fired, it is alive and not moved, and
    /// only the holder of the wheel's lock reads or writes it, but for its `data` and `fire`
    /// ([`Wheel::insert`]).
    pub(crate) unsafe fn insert(&self, node: *mut TimerNode, deadline: Instant) -> bool {
        let locked = &self.0;
        let before = locked.timers.next.load(Relaxed);
        // SAFETY: the node is alive, in no wheel, and stands where it is until it is taken out: the
        // contract of `Wheel::insert`.
        unsafe { locked.wheel().insert(node, deadline.as_nanos()) };
        locked.publish_next();
        // Of the wheel's own times: it may want to be looked at before a deadline.
        locked.timers.next.load(Relaxed) < before
    }
}

impl Timers {
    /// When something is due next, in nanoseconds; `u64::MAX`: nothing is in the wheel.
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        // Relaxed: a hint; who goes by it looks again under the lock.
        self.next.load(Relaxed)
    }

    /// How many timers are pending. An estimate, for any thread.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Relaxed)
    }

    /// Locks the wheel, for the calling worker's owner of biases. Inside: nothing foreign, nothing
    /// that blocks.
    #[inline]
    pub(super) fn lock_by(&self, owner: Option<&'static BiasOwner>) -> Locked<'_> {
        // SAFETY: the owner is that of the calling thread's worker; the holders of a `Locked` keep
        // to the rule.
        let guard = unsafe { self.lock.lock(owner) };
        Locked { timers: self, _guard: guard }
    }

    /// The same, to set a timer.
    #[inline]
    pub(super) fn lock_to_insert_by(&self, owner: Option<&'static BiasOwner>) -> Supplied<'_> {
        // Relaxed: it becomes true under the lock, which we take next.
        if !self.supplied.load(Relaxed) {
            self.supply(owner);
        }
        Supplied(self.lock_by(owner))
    }

    #[cold]
    fn supply(&self, owner: Option<&'static BiasOwner>) {
        // Dropped without the lock.
        let mut supply = Supply::default();
        let locked = self.lock_by(owner);
        locked.wheel().supply(&mut supply);
        self.supplied.store(true, Relaxed);
    }
}
