//! How workers of an own pool sleep, and who wakes them.
//!
//! Each has a flag and a condition under its lock. A worker that falls asleep counts itself,
//! fences, and looks for work once more; who queues a job queues it, fences, and looks at the
//! count. One of the two sees the other. Queueing is the frequent side: its fence is the light one
//! of [`myriad_base::sys::fence`], for the compiler alone where the kernel has `membarrier`.
//!
//! A latch is set before its waiter's lock is taken: either the waiter, under that lock, has not
//! looked yet, and sees it, or it sleeps, and is woken.

use myriad_base::sys::fence::{heavy_any, light_any};
use myriad_base::sys::mutex::{Condvar, Mutex};
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Sleep {
    sleepers: Box<[Sleeper]>,
    asleep: AtomicUsize,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Sleeper {
    asleep: Mutex<bool>,
    woken: Condvar,
}

impl Sleep {
    pub(crate) fn new(workers: usize) -> Sleep {
        Sleep { sleepers: (0..workers).map(|_| Sleeper::default()).collect(), asleep: AtomicUsize::new(0) }
    }

    /// Sleeps until woken, unless there is something to do after all, or what is waited for has
    /// come.
    pub(crate) fn sleep(&self, index: usize, is_over: impl Fn() -> bool, has_work: impl Fn() -> bool) {
        let sleeper = &self.sleepers[index];
        let mut asleep = sleeper.asleep.lock();
        *asleep = true;
        // Relaxed: ordered by the fence.
        self.asleep.fetch_add(1, Relaxed);
        // Pairs with the light fence in `new_jobs`.
        heavy_any();
        if is_over() || has_work() {
            *asleep = false;
            self.asleep.fetch_sub(1, Relaxed);
            return;
        }
        while *asleep {
            asleep = sleeper.woken.wait(asleep);
        }
    }

    /// A job that any worker may take was queued.
    #[inline(always)]
    pub(crate) fn new_job(&self, from: usize) {
        // Pairs with the heavy fence in `sleep`.
        light_any();
        // Relaxed: ordered by the fence.
        if self.asleep.load(Relaxed) > 0 {
            self.wake_any(from);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_any(&self, from: usize) {
        let n = self.sleepers.len();
        _ = (1..=n).any(|i| self.wake((from + i) % n));
    }

    /// Wakes this worker, if it sleeps.
    pub(crate) fn wake(&self, index: usize) -> bool {
        let sleeper = &self.sleepers[index];
        let mut asleep = sleeper.asleep.lock();
        let slept = std::mem::take(&mut *asleep);
        if slept {
            // Relaxed: a waker that still counts it looks in vain.
            self.asleep.fetch_sub(1, Relaxed);
            sleeper.woken.notify_one();
        }
        slept
    }

    /// Wakes all.
    pub(crate) fn wake_all(&self) {
        (0..self.sleepers.len()).for_each(|index| _ = self.wake(index));
    }
}
