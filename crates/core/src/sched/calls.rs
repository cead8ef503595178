//! Threads that make calls: as many as are needed at a time, up to a limit.
//!
//! ```text
//!  job ─> queue ─> the thread that became idle last, or a new one      while fewer *run* than may
//!  a thread that is done ─> next job in the queue, or idle ─> ends after a while
//! ```
//! The thread that became idle last is used first, so that those which are not needed stay idle,
//! and end. There are two pools: for calls that hold up their thread, where the limit is a large
//! number; and for computations, where it is the number of processors, and a thread that *sleeps*
//! in a wait of this library does not count as running.
//!
//! **Invariants.** A thread is in `idle` only while its slot is empty and it waits there. Who takes
//! it out fills the slot, once; a thread that wants to end takes itself out, or finds that a job is
//! on its way. While jobs are queued as many run as may.

use crate::queue::policy::ready_task::PropertyValue;
use crate::record::task::Runnable;
use crate::sched::unwind;
use crate::sched::wait::foreign;
use myriad_base::sys::clock;
use myriad_base::sys::fork::{self, GiveBack, Rank};
use myriad_base::sys::mutex::{Condvar, Mutex, MutexGuard};
use myriad_base::sys::passing::passing;
use myriad_base::sys::thread::{self, processors};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// At most so many threads in a pool, running or not.
pub(crate) const MOST: usize = 512;
/// An idle thread ends after this time.
const KEEP: Duration = Duration::from_secs(10);

/// For calls that hold up their thread.
pub(crate) static BLOCKING: ThreadPool = ThreadPool::new("myriad-blocking", || MOST);
/// For computations.
pub(crate) static COMPUTE: ThreadPool = ThreadPool::new("myriad-compute", || processors().workers);

/// What the pool runs.
pub(crate) struct CallJob {
    pub(crate) run: unsafe fn(*mut ()),
    pub(crate) data: *mut (),
}

// SAFETY: `data` is a closure that may be sent, with its frame or box; it is used by one thread at
// a time.
unsafe impl Send for CallJob {}

impl CallJob {
    /// Runs it.
    pub(crate) fn run(self) {
        // SAFETY: made for this data, and run once, for `self` is gone.
        unsafe { (self.run)(self.data) };
    }
}

/// See the module's header.
pub(crate) struct ThreadPool {
    name: &'static str,
    /// How many may run at a time.
    most: fn() -> usize,
    state: Mutex<ThreadPoolState>,
}

pub(crate) struct ThreadPoolState {
    /// Whose threads these are: see [`fork`].
    era: u32,
    queue: VecDeque<CallJob>,
    idle: Vec<Arc<IdleThread>>,
    threads: usize,
    /// Threads that sleep in a job.
    asleep: usize,
    numbered: u64,
}

impl ThreadPoolState {
    fn running(&self) -> usize {
        self.threads - self.idle.len() - self.asleep
    }
}

/// What a pool of threads has at one moment.
pub(crate) struct CallCounts {
    /// What the threads are called.
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    /// Of these the ones that have nothing to do.
    pub(crate) idle: usize,
    /// Calls that wait for a thread.
    pub(crate) queued: usize,
}

/// Where an idle thread waits for a job.
#[derive(Default)]
struct IdleThread {
    job: Mutex<Option<CallJob>>,
    filled: Condvar,
}

/// For `fork`: no other thread changes the pools meanwhile.
fn take() -> GiveBack {
    let held = [BLOCKING.state.lock(), COMPUTE.state.lock()];
    Box::new(move |_| drop(held))
}

thread_local! {
    /// Is the thread one of a pool here?
    static WORKS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Is the calling thread one of these pools?
pub(crate) fn works_here() -> bool {
    WORKS_HERE.get()
}

/// How many threads have nothing to do, and wait for a call or for their end.
pub(crate) fn idle_threads() -> usize {
    [&BLOCKING, &COMPUTE].map(|pool| pool.count().idle).iter().sum()
}

impl ThreadPool {
    const fn new(name: &'static str, most: fn() -> usize) -> ThreadPool {
        let state =
            ThreadPoolState { era: 0, queue: VecDeque::new(), idle: Vec::new(), threads: 0, asleep: 0, numbered: 0 };
        ThreadPool { name, most, state: Mutex::new(state) }
    }

    /// What it has now. In the child of a fork it has nothing of the parent's.
    pub(crate) fn count(&self) -> CallCounts {
        fork::hold(Rank::Calls, take);
        let state = self.state.lock();
        let of_here = |n| if state.era == fork::era() { n } else { 0 };
        CallCounts {
            name: self.name,
            threads: of_here(state.threads),
            idle: of_here(state.idle.len()),
            queued: of_here(state.queue.len()),
        }
    }

    /// Has the job run by a thread. Gives it back if there is none and none can be started.
    pub(crate) fn submit(&'static self, job: CallJob) -> Result<(), CallJob> {
        let data = job.data;
        fork::hold(Rank::Calls, take);
        let mut state = self.state.lock();
        if state.era != fork::era() {
            // The parent's threads, and calls.
            std::mem::forget((std::mem::take(&mut state.queue), std::mem::take(&mut state.idle)));
            *state = ThreadPoolState {
                era: fork::era(),
                threads: 0,
                asleep: 0,
                queue: VecDeque::new(),
                idle: Vec::new(),
                ..*state
            };
        }
        state.queue.push_back(job);
        if self.next_runs(state) {
            return Ok(());
        }
        let mut state = self.state.lock();
        if state.running() > 0 {
            // Others will come to it.
            return Ok(());
        }
        match state.queue.iter().position(|job| std::ptr::eq(job.data, data)) {
            Some(i) => state.queue.remove(i).map_or(Ok(()), Err),
            // Somebody came and went meanwhile.
            None => Ok(()),
        }
    }

    /// One more thread may run, perhaps: then the next job is begun. False: no thread could be
    /// started for it.
    fn next_runs(&'static self, mut state: MutexGuard<'_, ThreadPoolState>) -> bool {
        if state.queue.is_empty() || state.running() >= (self.most)() {
            return true;
        }
        if let Some(slot) = state.idle.pop() {
            let job = state.queue.pop_front();
            drop(state);
            *slot.job.lock() = job;
            slot.filled.notify_one();
            return true;
        }
        if state.threads >= MOST {
            return true;
        }
        state.threads += 1;
        state.numbered += 1;
        let name = format!("{}-{}", self.name, state.numbered);
        drop(state);
        // Without the lock: starting a thread takes the time of many jobs.
        let started = std::thread::Builder::new()
            .name(name)
            .spawn(passing(|| crate::sched::unwind::never_unwinds(self.name, || self.work())))
            .is_ok();
        if !started {
            self.state.lock().threads -= 1;
        }
        started
    }

    /// The life of a thread.
    fn work(&'static self) {
        // A worker that has a core of its own may have started us.
        _ = thread::unpin(&processors().cpus);
        if std::ptr::eq(self, &COMPUTE) {
            foreign::tell_of_sleep(|asleep| COMPUTE.sleeps(asleep));
        }
        WORKS_HERE.set(true);
        let slot = Arc::new(IdleThread::default());
        loop {
            let Some(job) = self.next(&slot) else { return };
            job.run();
        }
    }

    /// A running thread falls asleep in its job, so another may run; or it goes on, beside that
    /// one.
    fn sleeps(&'static self, asleep: bool) {
        let mut state = self.state.lock();
        if asleep {
            state.asleep += 1;
            self.next_runs(state);
        } else {
            state.asleep -= 1;
        }
    }

    /// A job that is queued, or one that comes while the thread is idle. `None`: it is to end.
    fn next(&self, slot: &Arc<IdleThread>) -> Option<CallJob> {
        let mut state = self.state.lock();
        // More than may run, if one has slept: then one of them pauses.
        if state.running() <= (self.most)()
            && let Some(job) = state.queue.pop_front()
        {
            return Some(job);
        }
        state.idle.push(slot.clone());
        drop(state);
        self.wait(slot)
    }

    /// Waits for a job; `None` if none has come for long: the thread is counted off, and ends.
    fn wait(&self, slot: &Arc<IdleThread>) -> Option<CallJob> {
        let empty = |job: &mut Option<CallJob>| job.is_none();
        let (mut job, is_late) = clock::wait_while(&slot.filled, slot.job.lock(), KEEP, empty);
        if is_late && job.is_none() {
            drop(job);
            let mut state = self.state.lock();
            if let Some(i) = state.idle.iter().position(|idle| Arc::ptr_eq(idle, slot)) {
                state.idle.remove(i);
                state.threads -= 1;
                return None;
            }
            drop(state);
            // Taken out: a job is on its way.
            job = slot.filled.wait_while(slot.job.lock(), empty);
        }
        job.take()
    }
}

/// Drops a task that never starts, on a thread of the pool for blocking calls; right here if there
/// is none.
pub(crate) fn drop_elsewhere(task: Runnable) {
    unsafe fn drop_it(task: *mut ()) {
        // SAFETY: the job is run once, and its data is a `Runnable`, below.
        crate::sched::finish::drop_unstarted(unsafe { Runnable::from_raw(task.cast()) });
    }
    if let Err(job) = BLOCKING.submit(CallJob { run: drop_it, data: task.into_raw().cast() }) {
        job.run();
    }
}

/// Drops a property of a task on such a thread; right here if there is none.
pub(crate) fn drop_property_elsewhere(property: PropertyValue) {
    unsafe fn drop_it(property: *mut ()) {
        // SAFETY: the job is run once, and its data is a box with a property, below.
        unwind::drop_quietly(unsafe { Box::from_raw(property.cast::<PropertyValue>()) });
    }
    let data = Box::into_raw(Box::new(property)).cast();
    if let Err(job) = BLOCKING.submit(CallJob { run: drop_it, data }) {
        job.run();
    }
}
