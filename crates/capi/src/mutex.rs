//! A lock that suspends.

use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::handle::{Table, User};
use myriad_sync::lock::{Mutex, MutexGuard};
use std::cell::UnsafeCell;
use std::sync::TryLockError;
use std::sync::atomic::{AtomicBool, Ordering::*};

/// A lock that sets tasks aside, instead of holding up their workers. May be held over any wait,
/// and unlocked by another task than the one that locked it.
#[derive(Debug)]
pub struct myriad_mutex(());

pub(crate) static LOCKS: Table<Lock> = Table::new(0xa7, "the lock", "freed");

/// What a handle stands for. (It does not move: its guard refers to it.)
pub(crate) struct Lock {
    held: UnsafeCell<Option<Held>>,
    is_held: AtomicBool,
    lock: Mutex<()>,
}

/// Who has the lock uses it: so it is not freed, and stays where it is. The guard goes first.
struct Held {
    _guard: MutexGuard<'static, ()>,
    _user: User<Lock>,
}

// SAFETY: `held` is written by who has just got the lock, before `is_held` says so, and emptied by
// who takes that back.
unsafe impl Sync for Lock {}
// SAFETY: the guard is of a lock that may be unlocked by another thread than the one that locked
// it.
unsafe impl Send for Lock {}

/// Takes the lock in this way, and keeps it until somebody unlocks it.
fn hold(user: User<Lock>, take: impl FnOnce(&Mutex<()>) -> Result<MutexGuard<'_, ()>, Failure>) -> Result<(), Failure> {
    let guard = take(&user.lock)?;
    // SAFETY: only the lifetime changes. The lock stands, where it is, as long as it has users, and
    // this one goes after the guard.
    let guard: MutexGuard<'static, ()> = unsafe { std::mem::transmute(guard) };
    let (held, is_held): (*mut Option<Held>, *const AtomicBool) = (user.held.get(), &raw const user.is_held);
    // SAFETY: we have the lock, so nobody else writes there; who unlocks it finds it by `is_held`,
    // after which we touch nothing.
    unsafe {
        *held = Some(Held { _guard: guard, _user: user });
        // Release: the guard, for the Acquire in `unlock`: whoever calls that, rightly or not.
        (*is_held).store(true, Release);
    }
    Ok(())
}

/// A lock may be freed that nobody else uses: neither waits for it, nor has it.
fn may_be_freed(users: u64) -> Result<(), Failure> {
    if users == 0 {
        return Ok(());
    }
    let text = "a lock that somebody has or waits for cannot be freed: unlock it first";
    Err(Failure::new(MYRIAD_ERROR_LOCKED, text))
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
            return Err(null("the pointer to the new lock"));
        }
        let new = Lock { held: UnsafeCell::new(None), is_held: AtomicBool::new(false), lock: Mutex::new(()) };
        // SAFETY: not NULL (looked at above), so there is room for a pointer, by the contract.
        unsafe { mutex.write(LOCKS.insert(new)) };
        Ok(())
    })
}

/// Locks it.
///
/// Blocks until nobody has it: the calling task is set aside, a thread that is no worker sleeps.
/// Who has it already waits for ever.
///
/// Errors: MYRIAD_ERROR_CANCELLED, MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE: the caller does not have
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_lock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| hold(LOCKS.get(mutex)?, |lock| Ok(lock.lock().unwrap_or_else(|e| e.into_inner()))))
}

/// Locks it if nobody has it.
///
/// Never blocks. Errors: MYRIAD_ERROR_LOCKED, MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_try_lock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        hold(LOCKS.get(mutex)?, |lock| match lock.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(error)) => Ok(error.into_inner()),
            Err(TryLockError::WouldBlock) => Err(MYRIAD_ERROR_LOCKED.into()),
        })
    })
}

/// Unlocks it; who waits longest may be next.
///
/// Never blocks. Errors: MYRIAD_ERROR_NOT_LOCKED (it is the caller's to know that he has it),
/// MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_unlock(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        let mutex = LOCKS.get(mutex)?;
        // Acquire: the guard, for one who has not locked it himself.
        if !mutex.is_held.swap(false, Acquire) {
            return Err(MYRIAD_ERROR_NOT_LOCKED.into());
        }
        // SAFETY: locked, and nobody else unlocks it: whoever took `is_held` back has the guard.
        // The lock stands: this call uses it.
        drop(unsafe { (*mutex.held.get()).take() });
        Ok(())
    })
}

/// Frees a lock. NULL: nothing.
///
/// Never blocks. Errors: MYRIAD_ERROR_LOCKED: somebody has it or waits for it, and it stays;
/// MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_mutex_free(mutex: *mut myriad_mutex) -> myriad_status {
    guarded(|| {
        if mutex.is_null() {
            return Ok(());
        }
        LOCKS.remove(mutex, |_, users| may_be_freed(users))
    })
}

#[cfg(test)]
mod test {
    use super::*;
    use std::cell::Cell;

    /// Who frees a lock finds it free, and then somebody takes it.
    #[test]
    fn a_lock_that_is_taken_meanwhile_is_not_freed() {
        let mut mutex = std::ptr::null_mut();
        // SAFETY: room for a pointer.
        assert_eq!(unsafe { myriad_mutex_new(&mut mutex) }, MYRIAD_OK);
        let checks = Cell::new(0);
        let freed = LOCKS.remove(mutex, |_, users| {
            let may = may_be_freed(users);
            if checks.replace(checks.get() + 1) == 0 {
                assert!(may.is_ok());
                assert_eq!(myriad_mutex_lock(mutex), MYRIAD_OK);
            }
            may
        });
        assert!(freed.is_err() && checks.get() == 2);
        assert_eq!(myriad_mutex_try_lock(mutex), MYRIAD_ERROR_LOCKED);
        assert_eq!(myriad_mutex_unlock(mutex), MYRIAD_OK);
        assert_eq!(myriad_mutex_free(mutex), MYRIAD_OK);
        assert_eq!(myriad_mutex_lock(mutex), MYRIAD_ERROR_STALE);
    }
}
