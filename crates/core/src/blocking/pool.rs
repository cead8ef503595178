//! The threads for blocking calls: as many as are needed at a time.
//!
//! **Invariant.** `idle` counts threads that wait and have not been promised a job: who puts a job in and finds one takes it
//! off the count and wakes one. So a burst of jobs starts as many threads as it needs, not one less.

use super::Job;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// At most so many threads at a time.
const MOST: usize = 512;
/// An idle thread ends after this time.
const KEEP: Duration = Duration::from_secs(10);

struct Pool {
    state: Mutex<State>,
    /// A job is there.
    filled: Condvar,
}

struct State {
    queue: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Idle threads that were woken and have not come yet.
    promised: usize,
    numbered: u64,
}

static POOL: Pool = Pool {
    state: Mutex::new(State { queue: VecDeque::new(), threads: 0, idle: 0, promised: 0, numbered: 0 }),
    filled: Condvar::new(),
};

fn locked() -> MutexGuard<'static, State> {
    // Nothing panics under it; what it holds stays consistent.
    POOL.state.lock().unwrap_or_else(|e| e.into_inner())
}

/// Has the job run by a thread. Gives it back if there is none and none can be started.
pub(super) fn submit(job: Job) -> Result<(), Job> {
    let data = job.data;
    let mut state = locked();
    state.queue.push_back(job);
    if state.idle > 0 {
        state.idle -= 1;
        state.promised += 1;
        drop(state);
        POOL.filled.notify_one();
        return Ok(());
    }
    if state.threads >= MOST {
        return Ok(());
    }
    state.threads += 1;
    state.numbered += 1;
    let name = format!("myriad-blocking-{}", state.numbered);
    drop(state);
    // Without the lock: starting a thread takes the time of many jobs.
    if std::thread::Builder::new().name(name).spawn(work).is_ok() {
        return Ok(());
    }
    let mut state = locked();
    state.threads -= 1;
    if state.threads > 0 {
        // Others will come to it.
        return Ok(());
    }
    match state.queue.iter().position(|job| std::ptr::eq(job.data, data)) {
        Some(i) => state.queue.remove(i).map_or(Ok(()), Err),
        // Somebody came and went meanwhile.
        None => Ok(()),
    }
}

/// The life of a thread.
fn work() {
    let mut state = locked();
    loop {
        while let Some(job) = state.queue.pop_front() {
            drop(state);
            job.run();
            state = locked();
        }
        state.idle += 1;
        loop {
            let (guard, timeout) = POOL.filled.wait_timeout(state, KEEP).unwrap_or_else(|e| e.into_inner());
            state = guard;
            if state.promised > 0 {
                // Counted off `idle` by whoever promised.
                state.promised -= 1;
                break;
            }
            if timeout.timed_out() {
                state.idle -= 1;
                state.threads -= 1;
                return;
            }
        }
    }
}
