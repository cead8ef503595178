//! Who runs a body, for who cancels that.
//!
//! ```text
//!  the runner:     IDLE -> RUNNING                       RUNNING -> DONE, when the body is over
//!  who cancels:            RUNNING -> ASKING -> ASKED   meanwhile the runner waits for ASKED
//!                  IDLE -> EARLY                         the runner does not call the body
//!  who hears that the runner never goes on:  IDLE or RUNNING -> DONE; or waits for ASKED
//! ```
//! So the runner does not go on while it is marked, and no request is lost between the claim of the
//! body and its begin.
//!
//! Tests: `tests/loom/running.rs`.

use myriad_base::sys::atomic::{AtomicU8, Ordering::*};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use myriad_base::sys::thread;
use std::mem::MaybeUninit;

const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const ASKING: u8 = 2;
const ASKED: u8 = 3;
const EARLY: u8 = 4;
const DONE: u8 = 5;

/// See the module's header. `T` says who runs it.
#[derive(Debug)]
pub struct Cancellable<T> {
    runner: UnsafeCell<MaybeUninit<T>>,
    state: AtomicU8,
}

// SAFETY: the runner's name is written before `RUNNING`, by whoever runs the body, and read after
// that, by one who may be elsewhere.
unsafe impl<T: Send> Sync for Cancellable<T> {}

impl<T: Copy> Cancellable<T> {
    /// Of a body that has not begun.
    #[allow(clippy::new_without_default, reason = "a name for what is not running yet")]
    pub fn new() -> Self {
        Cancellable { runner: UnsafeCell::new(MaybeUninit::uninit()), state: AtomicU8::new(IDLE) }
    }

    /// Calls the body, as this runner. True: it was marked because of that. `Err`: it was cancelled
    /// before, and here is the body.
    ///
    /// # Safety
    /// It is called once, and the body does not unwind: else a later cancellation would mark a task
    /// that may be gone.
    #[inline]
    pub unsafe fn run<R, F: FnOnce() -> R>(&self, runner: T, body: F) -> Result<(R, bool), F> {
        // SAFETY: nobody reads before `RUNNING`, and this is the only call (this function's
        // contract).
        self.runner.with_mut(|place| unsafe { (*place).write(runner) });
        // Release: the runner's name. Pairs with the Acquire in `cancel`.
        if self.state.compare_exchange(IDLE, RUNNING, ord(Release, "running-begin"), Relaxed).is_err() {
            return Err(body);
        }
        let result = body();
        // Relaxed: nothing is read because of it.
        if on("running-unmarked") || self.state.compare_exchange(RUNNING, DONE, Relaxed, Relaxed).is_ok() {
            return Ok((result, false));
        }
        // Acquire: the mark. Pairs with the Release in `cancel`.
        while self.state.load(ord(Acquire, "running-goes-on")) == ASKING && !on("running-does-not-wait") {
            thread::yield_now();
        }
        Ok((result, true))
    }

    /// The runner never goes on, whatever it is at: when this returns nobody marks it any more.
    pub fn abandon(&self) {
        loop {
            // Relaxed: nothing is read because of it. Acquire: the mark, as in `run`.
            let now = self.state.load(ord(Acquire, "running-is-abandoned"));
            if now == ASKING && !on("running-abandons-at-once") {
                thread::yield_now();
            } else if now > RUNNING || self.state.compare_exchange(now, DONE, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Keeps the body from beginning, or marks its runner, which does not leave `run` before
    /// `mark` has returned.
    pub fn cancel<M>(&self, mark: impl FnOnce(T) -> M) -> Option<M> {
        // Relaxed: nothing is read because of it.
        if self.state.compare_exchange(IDLE, EARLY, Relaxed, Relaxed).is_ok() {
            return None;
        }
        // Acquire: the runner's name. Pairs with the Release in `run`.
        if self.state.compare_exchange(RUNNING, ASKING, ord(Acquire, "running-asks"), Relaxed).is_err() {
            return None;
        }
        // SAFETY: written before `RUNNING`, and not again.
        let marked = mark(self.runner.with(|runner| unsafe { (*runner).assume_init() }));
        // Release: the mark. Pairs with the Acquire in `run`.
        self.state.store(ASKED, ord(Release, "running-asked"));
        Some(marked)
    }
}
