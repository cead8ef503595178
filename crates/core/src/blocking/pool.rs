//! The threads for blocking calls: as many as are needed at a time.
//!
//! A job goes to the thread that became idle last, so that those which are not needed stay idle, and end; if none is idle, to a
//! new one; if there may be no more, into the queue.
//!
//! **Invariant.** A thread is in `idle` only while its slot is empty and it waits there. Who takes it out fills the slot, once; a
//! thread that wants to end takes itself out, or finds that a job is on its way. While jobs are queued nobody is idle.

use super::Job;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// At most so many threads at a time.
const MOST: usize = 512;
/// An idle thread ends after this time.
const KEEP: Duration = Duration::from_secs(10);

struct State {
    queue: VecDeque<Job>,
    idle: Vec<Arc<Slot>>,
    threads: usize,
    numbered: u64,
}

/// Where an idle thread waits for a job.
#[derive(Default)]
struct Slot {
    job: Mutex<Option<Job>>,
    filled: Condvar,
}

static POOL: Mutex<State> = Mutex::new(State { queue: VecDeque::new(), idle: Vec::new(), threads: 0, numbered: 0 });

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics under these; what they hold stays consistent.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// Has the job run by a thread. Gives it back if there is none and none can be started.
pub(super) fn submit(job: Job) -> Result<(), Job> {
    let mut pool = locked(&POOL);
    if let Some(slot) = pool.idle.pop() {
        drop(pool);
        *locked(&slot.job) = Some(job);
        slot.filled.notify_one();
        return Ok(());
    }
    let data = job.data;
    pool.queue.push_back(job);
    if pool.threads >= MOST {
        return Ok(());
    }
    pool.threads += 1;
    pool.numbered += 1;
    let name = format!("myriad-blocking-{}", pool.numbered);
    drop(pool);
    // Without the lock: starting a thread takes the time of many jobs.
    if std::thread::Builder::new().name(name).spawn(work).is_ok() {
        return Ok(());
    }
    let mut pool = locked(&POOL);
    pool.threads -= 1;
    if pool.threads > 0 {
        // Others will come to it.
        return Ok(());
    }
    match pool.queue.iter().position(|job| std::ptr::eq(job.data, data)) {
        Some(i) => pool.queue.remove(i).map_or(Ok(()), Err),
        // Somebody came and went meanwhile.
        None => Ok(()),
    }
}

/// The life of a thread.
fn work() {
    let slot = Arc::new(Slot::default());
    loop {
        let Some(job) = next(&slot) else { return };
        job.run();
    }
}

/// A job that is queued, or one that comes while the thread is idle. `None`: it is to end.
fn next(slot: &Arc<Slot>) -> Option<Job> {
    let mut pool = locked(&POOL);
    if let Some(job) = pool.queue.pop_front() {
        return Some(job);
    }
    pool.idle.push(slot.clone());
    drop(pool);
    slot.wait()
}

impl Slot {
    /// Waits for a job; `None` if none has come for long: the thread is counted off, and ends.
    fn wait(self: &Arc<Self>) -> Option<Job> {
        let empty = |job: &mut Option<Job>| job.is_none();
        let (mut job, timeout) =
            self.filled.wait_timeout_while(locked(&self.job), KEEP, empty).unwrap_or_else(|e| e.into_inner());
        if timeout.timed_out() && job.is_none() {
            drop(job);
            let mut pool = locked(&POOL);
            if let Some(i) = pool.idle.iter().position(|idle| Arc::ptr_eq(idle, self)) {
                pool.idle.remove(i);
                pool.threads -= 1;
                return None;
            }
            drop(pool);
            // Taken out: a job is on its way.
            job = self.filled.wait_while(locked(&self.job), empty).unwrap_or_else(|e| e.into_inner());
        }
        job.take()
    }
}
