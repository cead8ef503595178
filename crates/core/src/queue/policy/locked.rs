//! A queue under its own lock, and, for looks without it, how good its first task is.

use myriad_base::lock::spin::SpinLock;
use myriad_base::sys::atomic::{AtomicU64, Ordering::Relaxed};
use myriad_base::sys::cell::UnsafeCell;

/// In place of a rank: there is no task.
pub(super) const EMPTY: u64 = u64::MAX;

/// What is locked.
pub(super) trait Ranked {
    /// The rank of the task that would be taken first; [`EMPTY`] if there is none.
    fn first(&self) -> u64;
}

/// On lines of its own: several workers are in several of them.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct LockedQueue<T> {
    lock: SpinLock,
    /// Of the value, as it was left.
    first: AtomicU64,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached under the lock only, by one thread at a time, and may be sent there.
unsafe impl<T: Send> Sync for LockedQueue<T> {}

impl<T: Ranked> LockedQueue<T> {
    pub(super) fn new(value: T) -> LockedQueue<T> {
        LockedQueue { lock: SpinLock::new(), first: AtomicU64::new(EMPTY), value: UnsafeCell::new(value) }
    }

    /// Calls `f` under the lock: short, and nothing foreign (but the allocator).
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: `f` is code of this folder, which neither waits nor unwinds, and runs nothing
        // foreign (but the allocator, as said above).
        let _guard = unsafe { self.lock.lock() };
        self.value.with_mut(|value| {
            // SAFETY: we have the lock, under which alone the value is reached.
            let value = unsafe { &mut *value };
            let result = f(value);
            // Relaxed: who goes by it comes to the lock, or is a sleeper, with its heavy fence
            // (`Workers::put`).
            self.first.store(value.first(), Relaxed);
            result
        })
    }

    /// How good the first task was just now.
    pub(super) fn first(&self) -> u64 {
        self.first.load(Relaxed)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first() == EMPTY
    }
}
