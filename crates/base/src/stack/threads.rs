//! Threads mode: a stack is an OS thread, and a switch hands it the worker's role.
//!
//! ```text
//!  A: save own address; B.turn = GO; wake B; wait for own turn   B: (waiting) turn: GO -> 0; B has the role
//! ```
//! Entirely safe for the code that runs in tasks: each blocked task keeps its thread, with its
//! thread-locals and its stack. The number of *running* threads stays the number of workers.
//!
//! **Invariant.** The worker's owner-only state is touched only by the thread that has the role:
//! after handing over, a thread touches nothing of it until its own turn comes.
//!
//! **Ordering.** `turn`: the Release store in [`Baton::give`] with the Acquire swap in
//! [`Baton::wait`] carries all of the worker's state. The word makes spurious wake-ups harmless.
//!
//! Tests: `tests/loom/handoff.rs`; every behaviour test runs in both modes.

use crate::sys::atomic::{Ordering::*, Overwrite};
use crate::sys::futex::Parker;
use crate::sys::mutant::ord;

/// What a waiting thread is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// You have the role: go on.
    Go = 1,
    /// You are not needed any more: end.
    Exit = 2,
}

/// Where a thread waits for its turn.
#[derive(Debug, Default)]
pub struct Baton {
    /// 0, or an [`Order`].
    parker: Parker,
}

impl Baton {
    /// Gives the turn. The thread may go on, end, and free the `Baton` at once: a raw pointer for
    /// that reason.
    ///
    /// # Safety
    /// The thread waits or will wait, and `turn` lives until it has seen the order.
    pub unsafe fn give(turn: *const Baton, order: Order) {
        // SAFETY: `turn` lives until its thread has seen the order (this function's contract), so
        // until the store; after that only the address is used.
        unsafe {
            let parker = &raw const (*turn).parker;
            // Release: pairs with the Acquire in `wait`.
            (*parker).word.overwrite(order as u32, ord(Release, "hand-over-release"));
            Parker::wake(parker);
        }
    }

    /// Waits for the turn.
    pub fn wait(&self) -> Order {
        loop {
            // Acquire: all that the giver did with the worker.
            match self.parker.word.swap(0, ord(Acquire, "turn-acquire")) {
                0 => self.parker.wait(0, None),
                go if go == Order::Go as u32 => return Order::Go,
                _ => return Order::Exit,
            }
        }
    }
}
