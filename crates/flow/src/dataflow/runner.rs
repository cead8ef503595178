//! Which task runs a node, for who cancels it.
//!
//! ```text
//!  the task:      IDLE -> RUNNING                       RUNNING -> DONE, when the body is over
//!  who cancels:            RUNNING -> ASKING -> ASKED   meanwhile the task waits for ASKED
//!                 IDLE -> EARLY                         the task does not call the body
//! ```
//! So the task does not end while it is marked, and no request is lost between the claim of the
//! node and the begin of its body.

use super::ready::InTask;
use myriad_base::sys::atomic::{AtomicU8, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_core::engine::running::UnderWay;
use std::mem::MaybeUninit;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const ASKING: u8 = 2;
const ASKED: u8 = 3;
const EARLY: u8 = 4;
const DONE: u8 = 5;

pub(super) struct Runner {
    task: UnsafeCell<MaybeUninit<UnderWay>>,
    state: AtomicU8,
}

// SAFETY: the task is written before `RUNNING`, by who runs the node, and read after that.
unsafe impl Sync for Runner {}

impl Runner {
    pub(super) fn new() -> Self {
        Runner { task: UnsafeCell::new(MaybeUninit::uninit()), state: AtomicU8::new(IDLE) }
    }

    /// Calls the body in the calling task, once. True: the task was cancelled because of it. `Err`:
    /// the node was cancelled before, and here is the body.
    #[inline]
    pub(super) fn run<R, F: FnOnce() -> R>(&self, _: &InTask, body: F) -> Result<(R, bool), F> {
        // SAFETY: nobody reads before `RUNNING`, and who has the claim of the node writes it once.
        self.task.with_mut(|task| unsafe { (*task).write(UnderWay::here()) });
        // Release: the task. Pairs with the Acquire in `cancel`.
        if self.state.compare_exchange(IDLE, RUNNING, Release, Relaxed).is_err() {
            return Err(body);
        }
        let result = body();
        // Relaxed: nothing is read because of it.
        if self.state.compare_exchange(RUNNING, DONE, Relaxed, Relaxed).is_ok() {
            return Ok((result, false));
        }
        while self.state.load(Relaxed) != ASKED {
            std::thread::yield_now();
        }
        Ok((result, true))
    }

    /// Keeps the body from beginning, or cancels the task that is in it.
    pub(super) fn cancel(&self) {
        // Relaxed: nothing is read because of it.
        if self.state.compare_exchange(IDLE, EARLY, Relaxed, Relaxed).is_ok() {
            return;
        }
        // Acquire: the task. Pairs with the Release in `run`.
        if self.state.compare_exchange(RUNNING, ASKING, Acquire, Relaxed).is_err() {
            return;
        }
        // SAFETY: written before `RUNNING`, and not again.
        let task = self.task.with(|task| unsafe { (*task).assume_init() });
        // SAFETY: the task is one that was spawned for nodes (`InTask`), and does not leave `run`
        // before the state is `ASKED`.
        let marked = unsafe { task.mark() };
        // Release: the mark is made before the task goes on.
        self.state.store(ASKED, Release);
        if let Some(marked) = marked {
            marked.tell();
        }
    }
}
