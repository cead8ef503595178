//! All pools of the process: by their numbers, which records have, and the list of those that no
//! runtime uses. How a pool comes back, and when its number is free for another one.

use super::{Pool, RuntimePools};
use crate::record::task::TaskRef;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::sys::thread::abort_with;
use std::io;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicPtr;

/// The most pools of a process: their numbers are a byte in each record.
pub(crate) const MOST: usize = 256;

pub(super) static POOLS: [AtomicPtr<Pool>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];

pub(super) static FREE: Mutex<Free> =
    Mutex::new(Free { clean: Vec::new(), unclean: Vec::new(), numberless: Vec::new(), numbers: 0 });

/// For `fork`.
pub(crate) type FreeLock = MutexGuard<'static, Free>;

/// For `fork`: nobody else changes the list meanwhile.
pub(crate) fn lock_free() -> FreeLock {
    FREE.lock()
}

/// Pools that no runtime uses.
pub(crate) struct Free {
    /// All their tasks have ended: they are used again.
    pub(super) clean: Vec<&'static Pool>,
    /// Frames of blocked tasks refer to them for ever, so they are not. Their numbers are.
    unclean: Vec<&'static Pool>,
    /// Those whose number another pool has now. Nobody looks here but leak checkers: frames and
    /// requests may refer to such a pool.
    numberless: Vec<&'static Pool>,
    /// How many numbers were ever given out.
    numbers: usize,
}

impl Free {
    /// Takes its number from a pool of this list.
    fn give_number(&mut self, i: usize, list: impl Fn(&mut Free) -> &mut Vec<&'static Pool>) -> u8 {
        let pool = list(self).swap_remove(i);
        self.numberless.push(pool);
        pool.number
    }

    /// A number for a new pool.
    ///
    /// That of a pool which has ended is free when nobody looks it up any more: the records of its
    /// tasks are done, and no handle has one of them. The old pool itself stays where it is.
    pub(super) fn number(&mut self) -> io::Result<u8> {
        if self.numbers < MOST {
            self.numbers += 1;
            return Ok((self.numbers - 1) as u8);
        }
        // Acquire: pairs with the Release in `forget_left`: the last looks at a record.
        if let Some(i) = self.unclean.iter().position(|pool| pool.left.load(Acquire) == 0) {
            return Ok(self.give_number(i, |free| &mut free.unclean));
        }
        if let Some(last) = self.clean.len().checked_sub(1) {
            return Ok(self.give_number(last, |free| &mut free.clean));
        }
        let held = self.unclean.len();
        Err(io::Error::other(format!(
            "there are {MOST} runtimes and pools already: {} that run, or whose workers have not come back from a task; and {held} that \
             have ended with blocked tasks, of which somebody still has handles. Shut some down, share one (tasks of many kinds \
             can run on it), or drop the handles of tasks that were left (each shutdown's report names them)",
            MOST - held
        )))
    }
}

#[cold]
#[inline(never)]
fn no_pool() -> ! {
    abort_with("a task without a pool was asked for it (a bug in Myriad)")
}

impl Pool {
    /// The pool of this number.
    ///
    /// # Safety
    /// The number is a pool's: it stands in the record of a task, or has stood there.
    #[inline]
    pub(crate) unsafe fn of(number: u8) -> &'static Pool {
        // SAFETY: a pool was made before any of its records (this function's contract), and pools
        // live for ever.
        unsafe { &*POOLS[usize::from(number)].load(Acquire) }
    }

    /// The pool of a task.
    #[inline]
    pub(crate) fn of_task(task: TaskRef<'_>) -> &'static Pool {
        // (One that was never let into a pool, for there was none, has no number of a pool.)
        // SAFETY: pools live for ever.
        let pool = unsafe { POOLS[usize::from(task.runtime())].load(Acquire).as_ref() };
        pool.unwrap_or_else(|| no_pool())
    }

    /// No task of the ended runtime is left: another may use the pool. Its handles know no other
    /// pool any more.
    pub(crate) fn give_back(&'static self) {
        self.drop_hooks();
        *self.runtime_pools.lock() = Arc::new(RuntimePools::none());
        FREE.lock().clean.push(self);
    }

    /// Blocked tasks of the ended runtime are left, and its workers have all ended: another may
    /// have the pool's number.
    pub(crate) fn give_number_back(&'static self) {
        FREE.lock().unclean.push(self);
    }

    /// A task of the ended runtime is left blocked, and somebody has its handle.
    pub(crate) fn keep_left(&self) {
        self.left.fetch_add(1, Relaxed);
    }

    /// That handle goes.
    pub(crate) fn forget_left(&self) {
        // Release: the last looks at the record, for the Acquire of who gives the number to another
        // pool.
        self.left.fetch_sub(1, Release);
    }

    /// The pools of this process that a runtime uses.
    pub(crate) fn all_in_use() -> Vec<&'static Pool> {
        let pools = POOLS.iter().filter_map(|pool| {
            // SAFETY: pools live for ever.
            unsafe { pool.load(Acquire).as_ref() }
        });
        pools.filter(|pool| !pool.is_elsewhere() && !pool.runtime_pools.lock().0.is_empty()).collect()
    }

    /// Free records that the workers of all pools of the process hold. An estimate.
    pub(crate) fn count_free_records() -> usize {
        let numbers = FREE.lock().numbers;
        let of_pool = |number: usize| {
            // SAFETY: null, or a pool: pools live for ever.
            let Some(pool) = (unsafe { POOLS[number].load(Acquire).as_ref() }) else { return 0 };
            let regular: usize = pool.regular_workers().iter().map(|w| w.free_records()).sum();
            // (In the child of a fork another thread of the parent may have had the lock.)
            let spares = pool.spares.try_lock();
            regular + spares.map_or(0, |spares| spares.iter().map(|w| w.free_records()).sum())
        };
        (0..numbers).map(of_pool).sum()
    }
}
