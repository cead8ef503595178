//! Threads mode: a stack is an OS thread, and a switch hands it the worker's role.
//!
//! ```text
//!  A: save own address; B.turn = GO; was it ASLEEP? -> wake B; wait for own turn
//!  B: turn: 0 -> ASLEEP, or it is GO already; sleep; GO -> 0; B has the role
//! ```
//! Entirely safe for the code that runs in tasks: each blocked task keeps its thread, with its
//! thread-locals and its stack. The number of *running* threads stays the number of workers.
//!
//! **Invariant.** The worker's owner-only state is touched only by the thread that has the role:
//! after handing over, a thread touches nothing of it until its own turn comes.
//!
//! **The system is called only for a sleeper.** Who gives a turn is often put aside by the system
//! in favour of the thread that it wakes, before it sleeps itself; the turn that it gets back then
//! is a store. Such a call in vain is not cheap: the kernel looks through all sleepers of the
//! process that share a bucket (0.3 µs with few, 30 µs with 10,000 on two cores and Linux 6.18: see
//! [`expect_sleepers`](crate::sys::futex::expect_sleepers)).
//!
//! **Ordering.** `turn`: the Release swap in [`Baton::give`] with the Acquire look in
//! [`Baton::wait`] carries all of the worker's state. The word makes spurious wake-ups harmless.
//! Between an order and its taking nobody else writes: a thread is given its next turn only after
//! it has been told of somewhere as one that waits, by itself.
//!
//! Tests: `tests/loom/handoff.rs`; every behaviour test runs in both modes.

use crate::sys::atomic::{Ordering::*, Overwrite};
use crate::sys::futex::Parker;
use crate::sys::mutant::{on, ord};

/// What a waiting thread is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    /// You have the role: go on.
    Go = 1,
    /// You are not needed any more: end.
    Exit = 2,
}

/// The thread sleeps, or is about to.
const ASLEEP: u32 = 3;

/// Where a thread waits for its turn.
#[derive(Debug, Default)]
pub struct Baton {
    /// 0, an [`Order`], or [`ASLEEP`].
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
            let before = (*parker).word.swap(order as u32, ord(Release, "hand-over-release"));
            if before == ASLEEP && !on("sleeper-not-woken") {
                Parker::wake(parker);
            }
        }
    }

    /// Does the thread sleep? A hint.
    pub fn sleeps(&self) -> bool {
        self.parker.word.load(Relaxed) == ASLEEP
    }

    /// Waits for the turn.
    pub fn wait(&self) -> Order {
        let word = &self.parker.word;
        // Acquire, both: all that the giver did with the worker.
        let mut order = match word.compare_exchange(0, ASLEEP, Relaxed, ord(Acquire, "turn-acquire")) {
            Ok(_) => ASLEEP,
            Err(order) => order,
        };
        while order == ASLEEP {
            self.parker.wait(ASLEEP, None);
            order = word.load(ord(Acquire, "turn-acquire"));
        }
        // Relaxed: who gives the next turn has heard of us after this.
        word.overwrite(0, Relaxed);
        if order == Order::Go as u32 { Order::Go } else { Order::Exit }
    }
}
