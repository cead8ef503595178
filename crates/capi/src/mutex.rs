//! A lock that suspends.

use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::handle::Table;
use myriad_sync::lock::{Mutex, MutexGuard};
use std::cell::UnsafeCell;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A lock that sets tasks aside, instead of holding up their workers. May be held over any wait, and unlocked by another task than the one
/// that locked it.
#[derive(Debug)]
pub struct myriad_mutex(());

static LOCKS: Table<Lock> = Table::new(0xa7, "the lock", "freed");

/// What a handle stands for. (It does not move: its guard refers to it.)
#[derive(Debug)]
struct Lock {
    /// First, so that it goes before the lock that it refers to.
    held: UnsafeCell<Option<MutexGuard<'static, ()>>>,
    is_held: AtomicBool,
    lock: Mutex<()>,
}

// SAFETY: `held` is written by who has just got the lock, before `is_held` says so, and emptied by who takes that back.
unsafe impl Sync for Lock {}
// SAFETY: the guard is of a lock that may be unlocked by another thread than the one that locked it.
unsafe impl Send for Lock {}

impl Lock {
    /// # Safety
    /// The guard is of this lock, which stays where it is until it is unlocked.
    unsafe fn keep(&self, guard: MutexGuard<'_, ()>) {
        // SAFETY: only the lifetime changes; the caller.
        let guard: MutexGuard<'static, ()> = unsafe { std::mem::transmute(guard) };
        // SAFETY: we have the lock.
        unsafe { *self.held.get() = Some(guard) };
        // Release: the guard, for the Acquire in `unlock`: whoever calls that, rightly or not.
        self.is_held.store(true, Release);
    }
}

/// Makes a lock. `mutex` gets it, for myriad_mutex_free.
///
/// Never blocks. Errors: MYRIAD_ERROR_NULL.
///
/// # Safety
/// `mutex` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_mutex_new(mutex: *mut *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        if mutex.is_null() {
            return Err(null("the place for the lock"));
        }
        let new = Lock { held: UnsafeCell::new(None), is_held: AtomicBool::new(false), lock: Mutex::new(()) };
        // SAFETY: the caller.
        unsafe { mutex.write(LOCKS.insert(new)) };
        Ok(())
    })
}

/// Locks it.
///
/// Blocks until nobody has it: the calling task is set aside, a thread that is no worker sleeps. Who has it already waits for ever.
///
/// Errors: MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE: the caller does not have it.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_lock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        let mutex = LOCKS.get(mutex)?;
        let guard = mutex.lock.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: its own; freed only unlocked.
        unsafe { mutex.keep(guard) };
        Ok(())
    })
}

/// Locks it if nobody has it.
///
/// Never blocks. Errors: MYRIAD_ERROR_LOCKED, MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_try_lock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        let mutex = LOCKS.get(mutex)?;
        let guard = match mutex.lock.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(error)) => error.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(MYRIAD_ERROR_LOCKED.into()),
        };
        // SAFETY: its own; freed only unlocked.
        unsafe { mutex.keep(guard) };
        Ok(())
    })
}

/// Unlocks it; who waits longest may be next.
///
/// Never blocks. Errors: MYRIAD_ERROR_NOT_LOCKED (it is the caller's to know that he has it), MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_unlock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        let mutex = LOCKS.get(mutex)?;
        // Acquire: the guard, for one who has not locked it himself.
        if !mutex.is_held.swap(false, Acquire) {
            return Err(MYRIAD_ERROR_NOT_LOCKED.into());
        }
        // SAFETY: locked, and nobody else unlocks it: whoever took `is_held` back has the guard.
        drop(unsafe { (*mutex.held.get()).take() });
        Ok(())
    })
}

/// Frees a lock. NULL: nothing.
///
/// Never blocks. Errors: MYRIAD_ERROR_LOCKED: somebody has it or waits for it, and it stays; MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_free(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        if mutex.is_null() {
            return Ok(());
        }
        LOCKS.remove(mutex, |lock, users| {
            if users == 0 && !lock.is_held.load(Relaxed) {
                return Ok(());
            }
            let text = "a lock that somebody has or waits for cannot be freed: unlock it first";
            Err(Failure::new(MYRIAD_ERROR_LOCKED, text))
        })
    })
}
