//! What the crates above the engine use of its inside: waiting, user code, panics, splitting of
//! loops, and the interface for another library's scheduler. Not for programs: it may change at any
//! time.

use crate::runtime::left::{self, Told};
use crate::sched::pool::Handle;
use myriad_base::sys::clock::Instant;
use myriad_base::sys::hooks::Hooks;

/// Waiting: [`Wait`](wait::Wait) for a caller that blocks, [`Waiter`](wait::Waiter) for whoever
/// wakes it.
pub mod wait {
    pub use crate::sched::wait::{Both, Caller, End, InHand, MultiWait, Parked, PollWait, Wait, WaitReason, Waiter};
}

/// The door through which code of users runs: their wakers, destructors and hooks.
pub mod user_code {
    pub use crate::sched::user_code::*;
}

/// What is done with panics.
pub mod unwind {
    pub use crate::sched::cancel::{cancellation, end_cancellation, is_cancellation};
    pub use crate::sched::unwind::{discard, drop_quietly, resume};
    pub use myriad_base::unwind::{Payload, catch};
}

/// What the stand-in for another library's scheduler needs to know of ours.
pub mod guest {
    pub use crate::api::guest::*;
}

/// Lazy splitting of loops: who else wants work.
pub mod split {
    pub use crate::api::split::*;
}

/// Errors of joins that are no task's of the engine.
pub mod join_error {
    pub use crate::api::error::{itself, panicked};
}

pub use crate::api::id::owner;
pub use crate::queue::deque::Line;
pub use crate::runtime::pools::here as home;

/// The time by the clock of this pool's runtime.
pub fn now_of(pool: Handle) -> Instant {
    pool.inner().now()
}

/// From now on a runtime that ends and leaves blocked tasks calls this function, under no lock:
/// their records say so then. The first function stays; later ones are ignored.
pub fn when_left(f: fn()) {
    // (No `Once` of std: where a process forks in the middle of one, its child would wait for
    // ever.)
    static FIRST: Hooks<fn(), 1> = Hooks::new();
    FIRST.set(0, f);
    left::when_left(Told::Sets, |_| FIRST.get(0).into_iter().for_each(|f| f()));
}

/// The calling worker's address, and whether that worker reckons with task-locals of its tasks.
/// `None` on a thread that is no worker. For tests.
pub fn contexts() -> Option<(usize, bool)> {
    crate::sched::worker::current().map(|w| (std::ptr::from_ref(&*w).addr(), w.shared.deque.has_contexts()))
}
