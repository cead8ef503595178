//! A lock that suspends.

use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use myriad_sync::lock::{Mutex, MutexGuard};
use std::cell::UnsafeCell;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A lock that sets tasks aside, instead of holding up their workers. May be held over any wait, and unlocked by another task than the one
/// that locked it.
#[derive(Debug)]
pub struct myriad_mutex {
    /// First, so that it goes before the lock that it refers to.
    held: UnsafeCell<Option<MutexGuard<'static, ()>>>,
    is_held: AtomicBool,
    lock: Mutex<()>,
}

// SAFETY: `held` is touched by who has the lock.
unsafe impl Sync for myriad_mutex {}

impl myriad_mutex {
    /// # Safety
    /// The guard is of this lock, which stays until it is unlocked.
    unsafe fn keep(&self, guard: MutexGuard<'_, ()>) {
        // SAFETY: only the lifetime changes; the caller.
        let guard: MutexGuard<'static, ()> = unsafe { std::mem::transmute(guard) };
        // SAFETY: we have the lock.
        unsafe { *self.held.get() = Some(guard) };
        // Relaxed: for `unlock`, which is called by who knows that it is locked.
        self.is_held.store(true, Relaxed);
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
        let new = myriad_mutex { held: UnsafeCell::new(None), is_held: AtomicBool::new(false), lock: Mutex::new(()) };
        // SAFETY: the caller.
        unsafe { mutex.write(Box::into_raw(Box::new(new))) };
        Ok(())
    })
}

/// Locks it.
///
/// Blocks until nobody has it: the calling task is set aside, a thread that is no worker sleeps. Who has it already waits for ever.
///
/// Errors: MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL: the caller does not have it.
///
/// # Safety
/// `mutex` is NULL or a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_mutex_lock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        // SAFETY: the caller.
        let mutex = unsafe { mutex.as_ref() }.ok_or_else(|| null("the lock"))?;
        let guard = mutex.lock.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: its own; freed only unlocked.
        unsafe { mutex.keep(guard) };
        Ok(())
    })
}

/// Locks it if nobody has it.
///
/// Never blocks. Errors: MYRIAD_ERROR_LOCKED, MYRIAD_ERROR_NULL.
///
/// # Safety
/// `mutex` is NULL or a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_mutex_try_lock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        // SAFETY: the caller.
        let mutex = unsafe { mutex.as_ref() }.ok_or_else(|| null("the lock"))?;
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
/// Never blocks. Errors: MYRIAD_ERROR_NOT_LOCKED, MYRIAD_ERROR_NULL.
///
/// # Safety
/// `mutex` is NULL or a lock that the caller has locked, or was given by who has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_mutex_unlock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        // SAFETY: the caller.
        let mutex = unsafe { mutex.as_ref() }.ok_or_else(|| null("the lock"))?;
        // Relaxed: the caller has it, and knows.
        if !mutex.is_held.swap(false, Relaxed) {
            return Err(MYRIAD_ERROR_NOT_LOCKED.into());
        }
        // SAFETY: the caller has the lock.
        drop(unsafe { (*mutex.held.get()).take() });
        Ok(())
    })
}

/// Frees a lock. NULL: nothing.
///
/// Never blocks. Errors: MYRIAD_ERROR_LOCKED: somebody has it, and it stays.
///
/// # Safety
/// `mutex` is NULL or a lock that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_mutex_free(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        // SAFETY: the caller.
        let Some(lock) = (unsafe { mutex.as_ref() }) else { return Ok(()) };
        if lock.is_held.load(Relaxed) {
            let text = "a lock that somebody has cannot be freed: unlock it first";
            return Err(Failure::new(MYRIAD_ERROR_LOCKED, text));
        }
        // SAFETY: the caller: nobody else's.
        drop(unsafe { Box::from_raw(mutex) });
        Ok(())
    })
}
