//! Threads for gangs, kept for a while when they are idle.
//!
//! ```text
//!  idle ─ engage ─> engaged ─ job ─> runs ─> idle ─> ends after a while
//!            └ none idle: a new thread, engaged from its start
//! ```
//! **Invariants.** A helper is in the list only while its slot is empty and it waits there; who
//! takes it out has it alone, and fills the slot once. So who has engaged `k` of them has `k`
//! threads, which exist: nobody else's work stands before his.

use crate::sched::{fork, unwind};
use myriad_base::stack::overflow;
use myriad_base::sys::mutex::{Condvar, Mutex, MutexGuard};
use myriad_base::sys::passing::passing;
use myriad_base::sys::thread::{self, processors};
use myriad_base::sys::{clock, map};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// An idle helper ends after this time.
const KEEP: Duration = Duration::from_secs(10);
/// Its stack: what foreign libraries may expect. Address space only.
const STACK: usize = 8 << 20;

static IDLE: Mutex<Idle> = Mutex::new(Idle { era: 0, numbered: 0, helpers: Vec::new() });

pub(crate) struct Idle {
    /// Whose threads these are: a forked child has none of them.
    era: u32,
    numbered: u64,
    helpers: Vec<Arc<Slot>>,
}

pub(super) type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Slot {
    job: Mutex<Option<Job>>,
    filled: Condvar,
}

/// For `fork`: nobody else changes the list meanwhile.
pub(crate) type Lock = MutexGuard<'static, Idle>;

pub(super) fn lock() -> Lock {
    IDLE.lock()
}

fn idle() -> Lock {
    let mut idle = lock();
    let era = fork::era();
    if idle.era != era {
        std::mem::forget(std::mem::take(&mut idle.helpers));
        idle.era = era;
    }
    idle
}

/// A thread that waits for the job of whoever has this; dropped without one, it is idle.
pub(super) struct Helper(Option<Arc<Slot>>);

impl Helper {
    /// So many helpers, or none.
    ///
    /// # Errors
    /// What the system says: it has no more threads.
    pub(super) fn engage(k: usize) -> io::Result<Vec<Helper>> {
        let mut helpers = Vec::with_capacity(k);
        {
            let mut idle = idle();
            let from = idle.helpers.len() - k.min(idle.helpers.len());
            // Those that became idle last.
            helpers.extend(idle.helpers.drain(from..).map(|slot| Helper(Some(slot))));
        }
        while helpers.len() < k {
            // On an error those that we have are dropped: idle again.
            helpers.push(Helper::start()?);
        }
        Ok(helpers)
    }

    fn start() -> io::Result<Helper> {
        let number = {
            let mut idle = idle();
            idle.numbered += 1;
            idle.numbered
        };
        let slot = Arc::new(Slot::default());
        #[cfg(all(test, not(loom)))]
        super::test::may_start()?;
        map::thread_starts()?;
        let mine = slot.clone();
        let thread =
            std::thread::Builder::new().name(format!("myriad-gang-{number}")).stack_size(overflow::with_room(STACK));
        let body = move || unwind::never_unwinds("a gang's thread", || work(&mine));
        thread.spawn(passing(body)).inspect_err(|_| map::thread_ended())?;
        Ok(Helper(Some(slot)))
    }

    /// Has the thread run this.
    pub(super) fn run(mut self, job: Job) {
        if let Some(slot) = self.0.take() {
            *slot.job.lock() = Some(job);
            slot.filled.notify_one();
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        if let Some(slot) = self.0.take() {
            idle().helpers.push(slot);
        }
    }
}

/// The life of a helper.
fn work(slot: &Arc<Slot>) {
    // A worker that has a core of its own may have started us.
    _ = thread::unpin(&processors().cpus);
    // SAFETY: the thread was started with that room, and leaves below, at the end of its body.
    unsafe { overflow::enter_own_thread() };
    while let Some(job) = next(slot) {
        job();
        idle().helpers.push(slot.clone());
    }
    // SAFETY: at the end of the thread's body, which is no signal handler.
    unsafe { overflow::leave_thread() };
    map::thread_ended();
}

/// The next job; `None` if none has come for long.
fn next(slot: &Arc<Slot>) -> Option<Job> {
    loop {
        let waited = clock::wait_while(&slot.filled, slot.job.lock(), KEEP, |job| job.is_none());
        if let Some(job) = { waited }.0.take() {
            return Some(job);
        }
        let mut idle = idle();
        if let Some(i) = idle.helpers.iter().position(|helper| Arc::ptr_eq(helper, slot)) {
            idle.helpers.remove(i);
            return None;
        }
        // Engaged: a job is on its way, or it will be idle again.
    }
}
