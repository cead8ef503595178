//! What the workers of an own pool share, from its start to its end.
//!
//! **End.** `keepers` counts who needs the workers: the pool's handle, and each job that nobody
//! waits for. When the last goes, the workers leave their loops. Jobs that somebody waits for need
//! not count: whoever waits has the handle, or is such a job.

use super::job::{FrameJob, Job};
use super::latch::Latch;
use super::sleep::Sleep;
use super::worker::Worker;
use crate::unwind::{self, Payload};
use crate::user_code::{self, PanicHandler};
use crossbeam_deque::{Injector, Steal, Stealer};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code::UserValue;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

pub(crate) type Handler = Box<dyn Fn(usize) + Send + Sync>;

/// See the module's header.
pub(crate) struct Registry {
    stealers: Box<[Stealer<Job>]>,
    broadcasts: Box<[Mutex<VecDeque<Job>>]>,
    injector: Injector<Job>,
    pub(crate) sleep: Sleep,
    keepers: AtomicUsize,
    over: AtomicBool,
    /// Dropped by whoever comes last: a thread of the pool, its owner, or who wakes one of its
    /// workers.
    handlers: Handlers,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// What the user wants to be called.
pub(crate) struct Handlers {
    panic: UserValue<Option<Box<PanicHandler>>>,
    start: UserValue<Option<Handler>>,
    exit: UserValue<Option<Handler>>,
}

impl Handlers {
    pub(crate) fn new(panic: Option<Box<PanicHandler>>, start: Option<Handler>, exit: Option<Handler>) -> Handlers {
        Handlers { panic: UserValue::new(panic), start: UserValue::new(start), exit: UserValue::new(exit) }
    }
}

impl Drop for Handlers {
    fn drop(&mut self) {
        // Each for itself: a destructor may panic beside the others.
        // SAFETY: each is taken out of its place here alone, where nobody uses the place
        // afterwards: `self` goes.
        unsafe {
            user_code::let_go(self.panic.take());
            user_code::let_go(self.start.take());
            user_code::let_go(self.exit.take());
        }
    }
}

impl Registry {
    /// Of workers with these deques, kept by one handle.
    pub(crate) fn new(stealers: Box<[Stealer<Job>]>, handlers: Handlers) -> Registry {
        let n = stealers.len();
        Registry {
            stealers,
            broadcasts: (0..n).map(|_| Mutex::default()).collect(),
            injector: Injector::new(),
            sleep: Sleep::new(n),
            keepers: AtomicUsize::new(1),
            over: AtomicBool::new(false),
            handlers,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.stealers.len()
    }

    pub(crate) fn stealers(&self) -> &[Stealer<Job>] {
        &self.stealers
    }

    /// The calling thread's worker, if it is one of this pool.
    #[inline]
    pub(crate) fn worker<'a>(&self) -> Option<&'a Worker> {
        Worker::current().filter(|w| w.is_of(self))
    }

    /// Somebody needs the workers, who is kept by somebody already.
    pub(crate) fn keep(&self) {
        // Relaxed: not 0 before.
        self.keepers.fetch_add(1, Relaxed);
    }

    /// Somebody needs them no more.
    pub(crate) fn release(&self) {
        // AcqRel: what jobs did, for the exit handlers.
        if self.keepers.fetch_sub(1, AcqRel) == 1 {
            self.over.store(true, Release);
            self.sleep.wake_all();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Acquire)
    }

    /// Queues a job: on the calling worker, if it is one of this pool.
    pub(crate) fn push(&self, job: Job) {
        match self.worker() {
            Some(w) => w.push(job),
            None => self.inject(job),
        }
    }

    /// Queues a job for whoever comes first.
    pub(crate) fn inject(&self, job: Job) {
        self.injector.push(job);
        self.sleep.new_job(0);
    }

    /// Queues one job for each worker.
    pub(crate) fn broadcast(&self, jobs: impl ExactSizeIterator<Item = Job>) {
        debug_assert_eq!(jobs.len(), self.threads());
        for (i, job) in jobs.enumerate() {
            self.broadcasts[i].lock().push_back(job);
            // (It looks there under its sleeper's lock, which this takes.)
            self.sleep.wake(i);
        }
    }

    pub(crate) fn take_broadcast(&self, index: usize) -> Option<Job> {
        self.broadcasts[index].lock().pop_front()
    }

    pub(crate) fn take_injected(&self) -> Option<Job> {
        loop {
            match self.injector.steal() {
                Steal::Success(job) => return Some(job),
                Steal::Empty => return None,
                Steal::Retry => {}
            }
        }
    }

    /// Is there a job that this worker could take?
    pub(crate) fn has_work_for(&self, index: usize) -> bool {
        !self.injector.is_empty()
            || self.stealers.iter().any(|stealer| !stealer.is_empty())
            || !self.broadcasts[index].lock().is_empty()
    }

    /// Calls `f` on a worker of this pool, and waits on whatever other thread.
    pub(crate) fn call_in_worker(&self, f: &mut (dyn FnMut() + Send)) {
        let job = FrameJob::new(|_| f(), Latch::of_caller(Some(self)));
        unwind::never_left("a call into another pool", || {
            // SAFETY: the frame stands until the latch is set: nothing unwinds before.
            self.inject(unsafe { job.job() });
            job.latch.wait();
        });
        if let Err(payload) = job.into_result() {
            unwind::resume(payload);
        }
    }

    /// Calls the start handler for this worker, if there is one.
    pub(crate) fn call_start_handler(&self, index: usize) {
        self.call_handler(self.handlers.start.peek(), index);
    }

    /// Calls the exit handler for this worker, if there is one.
    pub(crate) fn call_exit_handler(&self, index: usize) {
        self.call_handler(self.handlers.exit.peek(), index);
    }

    fn call_handler(&self, handler: &Option<Handler>, index: usize) {
        if let Some(handler) = handler
            && let Err(payload) = user_code::call(|| handler(index))
        {
            self.detached_panic(payload);
        }
    }

    /// A job that nobody waits for, or a handler, has panicked.
    pub(crate) fn detached_panic(&self, payload: Payload) {
        user_code::tell(self.handlers.panic.peek().as_deref(), payload);
    }
}
