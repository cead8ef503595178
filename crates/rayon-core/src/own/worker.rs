//! A worker of an own pool: its queue, and its loop.
//!
//! It looks for a job, in this order: its newest own; one that was broadcast to it; the oldest of
//! another worker, beginning with a random one; the oldest from outside. While it waits in a
//! `join`, a scope or an `install` it does the same, on top of what waits: that is rayon's way, in
//! which nothing is ever set aside.

use super::job::Job;
use super::registry::Registry;
use crossbeam_deque::{Steal, Worker as Deque};
use myriad_base::sys::mutex::Mutex;
use myriad_core::cancel;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr::null;
use std::sync::Arc;

/// It looks so often, and yields in between, before it sleeps.
const ROUNDS: u32 = 32;

/// See the module's header.
pub(crate) struct Worker {
    deque: Deque<Job>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) index: usize,
    /// Jobs of `spawn_fifo` from here: each has a stand-in in the deque, which runs the oldest of
    /// them.
    pub(crate) fifo: Arc<Fifo>,
    random: Cell<u64>,
}

/// What a thread was before it [became](Worker::enter) a worker: another pool's, or none.
#[must_use]
pub(crate) struct Former(*const Worker);

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

impl Worker {
    pub(crate) fn new(deque: Deque<Job>, registry: Arc<Registry>, index: usize) -> Worker {
        // Any number but 0.
        let random = Cell::new((index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        Worker { deque, registry, index, fifo: Arc::default(), random }
    }

    /// The worker that the calling thread is, in whichever own pool. (The caller keeps it no longer
    /// than it is on the stack.)
    #[inline(always)]
    pub(crate) fn current<'a>() -> Option<&'a Worker> {
        // SAFETY: set by `enter` to a worker that stands until `leave`, which comes when no job
        // runs on the thread any more.
        unsafe { CURRENT.get().as_ref() }
    }

    /// The calling thread is this worker from now on; returns what it was before, for
    /// [`leave`](Self::leave).
    ///
    /// # Safety
    /// It stands until `leave`, or for ever.
    pub(crate) unsafe fn enter(&self) -> Former {
        Former(CURRENT.replace(self))
    }

    /// The calling thread is again what it was before.
    pub(crate) fn leave(former: Former) {
        CURRENT.set(former.0);
    }

    /// Is it one of this pool?
    pub(crate) fn is_of(&self, registry: &Registry) -> bool {
        std::ptr::eq(&raw const *self.registry, registry)
    }

    /// Queues a job as the newest.
    #[inline(always)]
    pub(crate) fn push(&self, job: Job) {
        self.deque.push(job);
        self.registry.sleep.new_job(self.index);
    }

    /// The newest own job.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<Job> {
        self.deque.pop()
    }

    pub(crate) fn has_own(&self) -> bool {
        !self.deque.is_empty()
    }

    /// A job from where only this worker looks first.
    pub(crate) fn find_here(&self) -> Option<Job> {
        self.pop().or_else(|| self.registry.take_broadcast(self.index))
    }

    /// A job from anywhere.
    pub(crate) fn find(&self) -> Option<Job> {
        self.find_here().or_else(|| self.steal()).or_else(|| self.registry.take_injected())
    }

    fn steal(&self) -> Option<Job> {
        let stealers = self.registry.stealers();
        let n = stealers.len();
        let mut retry = n > 1;
        while std::mem::take(&mut retry) {
            let start = self.next_random() % n;
            for i in (start..n).chain(0..start).filter(|&i| i != self.index) {
                match stealers[i].steal() {
                    Steal::Success(job) => return Some(job),
                    Steal::Retry => retry = true,
                    Steal::Empty => {}
                }
            }
        }
        None
    }

    fn next_random(&self) -> usize {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        x as usize
    }

    /// Runs jobs until this is so. Does not unwind.
    ///
    /// They are none of the caller's business, who only waits for something: if it does so in a
    /// region (of a time limit, a token), its cancellation is not theirs. Hence the shield.
    pub(crate) fn work_until(&self, is_over: impl Fn() -> bool) {
        cancel::shield(|| self.work(is_over));
    }

    /// Runs a job that is none of the caller's business: see [`work_until`](Self::work_until).
    ///
    /// # Safety
    /// The job was taken out of a queue, where it was once, and what it points to is as its maker
    /// promised.
    pub(crate) unsafe fn run_apart(&self, job: Job) {
        // SAFETY: the job was taken out of a queue, where it was once, and is run once, here.
        cancel::shield(|| unsafe { job.run() });
    }

    fn work(&self, is_over: impl Fn() -> bool) {
        let mut rounds = 0;
        while !is_over() {
            if let Some(job) = self.find() {
                // SAFETY: the job was taken out of a queue, where it was once.
                unsafe { job.run() };
                rounds = 0;
            } else if rounds < ROUNDS {
                rounds += 1;
                std::thread::yield_now();
            } else {
                self.registry.sleep.sleep(self.index, &is_over, || self.registry.has_work_for(self.index));
                rounds = 0;
            }
        }
    }
}

/// Closures that run first come, first served.
pub(crate) type Call<'a> = Box<dyn FnOnce() + Send + 'a>;

/// A queue of such, each of which has a stand-in elsewhere.
#[derive(Default)]
pub(crate) struct Fifo(Mutex<VecDeque<Call<'static>>>);

impl Fifo {
    /// Puts a closure in, and returns its stand-in: when that is called, or dropped uncalled, the
    /// oldest closure is.
    pub(crate) fn put(self: &Arc<Self>, call: Call<'static>) -> StandIn {
        self.0.lock().push_back(call);
        StandIn(Some(self.clone()))
    }

    fn take(&self) -> Option<Call<'static>> {
        self.0.lock().pop_front()
    }
}

/// See [`Fifo::put`].
pub(crate) struct StandIn(Option<Arc<Fifo>>);

impl StandIn {
    /// Calls the oldest.
    pub(crate) fn call(mut self) {
        if let Some(call) = self.0.take().and_then(|fifo| fifo.take()) {
            call();
        }
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        drop(self.0.take().and_then(|fifo| fifo.take()));
    }
}
