//! Waiting for a job of own threads: whoever waits, a worker, a thread, or a task of Myriad.
//!
//! **Last touch.** The latch stands in the waiter's frame, which may go as soon as `done` is true.
//! So [`Latch::set`] first takes what it needs to wake the waiter, then stores, then wakes. A
//! worker of another pool is woken through its registry, which such a setter holds on to; one of
//! the setter's own pool is, because the setter works there.
//!
//! **No way out.** Who waits has frames that jobs borrow from, so no wait returns before the latch
//! is set, and none unwinds.
//!
//! **Ordering.** What the job did before: Release of the store with the Acquire in `is_set`.

use super::registry::Registry;
use super::worker::Worker;
use crate::unwind;
use crate::user_code;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::guest;
use myriad_core::engine::user_code::StoredWaker;
use myriad_core::{block_on, cancel};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::Poll;
use std::thread::Thread;
use std::time::Duration;

/// Between two checks of a task that waits without a stack to spare.
const WITHOUT_STACK: Duration = Duration::from_millis(1);

/// See the module's header.
pub(crate) struct Latch {
    done: AtomicBool,
    waiter: Waiter,
}

enum Waiter {
    /// A worker of an own pool, which runs jobs meanwhile. (It stands below the waiter on the same
    /// stack.)
    Worker { worker: *const Worker, is_other_pool: bool },
    /// A thread that is no worker.
    Thread(Thread),
    /// A task of Myriad: it is set aside.
    Task(Arc<Signal>),
}

// SAFETY: others than the waiter read the worker's number and its registry alone, which do not
// change, and are `Sync`.
unsafe impl Sync for Latch {}
// SAFETY: of the worker a latch has the address, by which others read what does not change; the
// thread's and the task's handles are `Send`.
unsafe impl Send for Latch {}

impl Latch {
    /// For this worker, which waits for its own pool.
    #[inline(always)]
    pub(crate) fn of_worker(w: &Worker) -> Latch {
        let waiter = Waiter::Worker { worker: w, is_other_pool: false };
        Latch { done: AtomicBool::new(false), waiter }
    }

    /// For the caller, who waits for a job of this pool of own threads, or of Myriad's.
    pub(crate) fn of_caller(pool: Option<&Registry>) -> Latch {
        let waiter = match (Worker::current(), guest::worker()) {
            (_, Some(_)) => Waiter::Task(Arc::default()),
            (Some(w), None) => {
                let is_other_pool = !pool.is_some_and(|pool| w.is_of(pool));
                Waiter::Worker { worker: w, is_other_pool }
            }
            (None, None) => Waiter::Thread(std::thread::current()),
        };
        Latch { done: AtomicBool::new(false), waiter }
    }

    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        // Acquire: pairs with the Release in `set`.
        self.done.load(Acquire)
    }

    /// Wakes the waiter. The latch may be gone when this returns.
    ///
    /// # Safety
    /// `this` is valid, and set once, by a worker of the pool that was waited for, or by the
    /// waiter.
    pub(crate) unsafe fn set(this: *const Latch) {
        // SAFETY: `this` is valid and is set once, here (this function's contract), so its waiter
        // does not leave before the store below: until that the latch stands.
        let latch = unsafe { &*this };
        match &latch.waiter {
            &Waiter::Worker { worker, is_other_pool } => {
                // SAFETY: the waiter stands on the worker's stack, and waits still. Nothing is read
                // but what does not change.
                let (registry, index) = unsafe { (Arc::as_ptr(&(*worker).registry), (*worker).index) };
                // SAFETY: the waiter is one of its workers, and waits still: the registry lives, in
                // an `Arc`.
                let keep = is_other_pool.then(|| unsafe {
                    Arc::increment_strong_count(registry);
                    Arc::from_raw(registry)
                });
                // Release: pairs with the Acquire in `is_set`.
                latch.done.store(true, Release);
                // SAFETY: held on to; or that of the setter, who works there or is the waiter.
                unsafe { &*registry }.sleep.wake(index);
                drop(keep);
            }
            Waiter::Thread(thread) => {
                let thread = thread.clone();
                // Release: as above.
                latch.done.store(true, Release);
                thread.unpark();
            }
            Waiter::Task(signal) => {
                let signal = signal.clone();
                // Release: as above.
                latch.done.store(true, Release);
                signal.wake();
            }
        }
    }

    /// Waits, as what its maker is, who calls this. It is not left before the latch is set: see the
    /// module's header.
    pub(crate) fn wait(&self) {
        unwind::never_left("a wait for jobs of a pool", || self.wait_as_waiter());
        debug_assert!(self.is_set());
    }

    fn wait_as_waiter(&self) {
        match &self.waiter {
            // (Not looked up again: what runs in between may have made the thread another pool's
            // worker.)
            // SAFETY: the latch was made by a function on this worker's stack, which waits here: so
            // the worker, further down on that stack, stands.
            &Waiter::Worker { worker, .. } => unsafe { (*worker).work_until(|| self.is_set()) },
            Waiter::Thread(_) => {
                while !self.is_set() {
                    std::thread::park();
                }
            }
            // A cancellation has to wait. And where there is no memory for a stack on which the
            // worker could go on, it waits with us.
            Waiter::Task(signal) => {
                while let Err(payload) = unwind::catch(|| cancel::shield(|| signal.wait(|| self.is_set()))) {
                    user_code::discard(payload);
                    if self.is_set() {
                        break;
                    }
                    std::thread::sleep(WITHOUT_STACK);
                }
            }
        }
    }
}

/// Wakes a task.
#[derive(Default)]
pub(crate) struct Signal(Mutex<Kept>);

/// Without drop glue: no assignment under the lock drops a waker.
type Kept = Option<StoredWaker>;
const _: () = assert!(!std::mem::needs_drop::<Kept>());

impl Signal {
    /// Puts a waker there, or none, and returns what was there, without the lock.
    fn exchange(&self, waker: Kept) -> Kept {
        std::mem::replace(&mut *self.0.lock(), waker)
    }

    fn wake(&self) {
        self.exchange(None).into_iter().for_each(StoredWaker::wake);
    }

    fn wait(&self, is_over: impl Fn() -> bool) {
        block_on(poll_fn(|context| {
            // First, so that who sets the latch after our check finds it.
            let waker = StoredWaker::clone_of(context.waker());
            self.exchange(Some(waker)).into_iter().for_each(StoredWaker::discard);
            if is_over() { Poll::Ready(()) } else { Poll::Pending }
        }));
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // That of a wait which found the latch set.
        self.exchange(None).into_iter().for_each(StoredWaker::discard);
    }
}

/// A latch that many jobs set together: the last of them.
pub(crate) struct Countdown {
    left: AtomicUsize,
    latch: Latch,
}

impl Countdown {
    pub(crate) fn new(left: usize, latch: Latch) -> Countdown {
        Countdown { left: AtomicUsize::new(left), latch }
    }

    /// One more, by somebody who has one.
    pub(crate) fn up(&self, more: usize) {
        // Relaxed: the count is not 0, and what is spawned gets here through a queue.
        self.left.fetch_add(more, Relaxed);
    }

    /// One less. It may be gone when this returns.
    ///
    /// # Safety
    /// `this` is valid until the last call of this for it, of which there is one for each that was
    /// counted; that one is by a worker of the pool that was waited for, or by the waiter.
    pub(crate) unsafe fn down(this: *const Countdown) {
        // SAFETY: `this` is valid until the last one that was counted has set the latch (this
        // function's contract), and this one is counted.
        unsafe {
            // AcqRel: what the others did, for the one who sets the latch, and so for the waiter.
            if (*this).left.fetch_sub(1, AcqRel) == 1 {
                Latch::set(&raw const (*this).latch);
            }
        }
    }

    pub(crate) fn wait(&self) {
        self.latch.wait();
    }
}
