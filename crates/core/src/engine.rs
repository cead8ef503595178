//! What the crates above the engine use of its inside: waiting, user code, panics, splitting of
//! loops, and the seat of another library's scheduler. Not for programs: it may change at any time.

/// Waiting: [`Wait`](wait::Wait) for a caller that blocks, [`Waiter`](wait::Waiter) for whoever
/// wakes it.
pub mod wait {
    pub use crate::sched::wait::{Both, Caller, End, InHand, MultiWait, Parked, PollWait, Wait, Waiter};
}

/// The door through which code of users runs: their wakers, destructors and hooks.
pub mod user_code {
    pub use crate::sched::user_code::*;
}

/// What is done with panics.
pub mod unwind {
    pub use crate::sched::unwind::{discard, resume};
}

/// What the stand-in for another library's scheduler needs to know of ours.
pub mod guest {
    pub use crate::api::guest::*;
}

/// Lazy splitting of loops: who else wants work.
pub mod split {
    pub use crate::api::split::*;
}

pub use crate::api::id::owner;
pub use crate::queue::deque::Line;

/// The calling worker's address, and whether that worker reckons with task-locals of its tasks.
/// `None` on a thread that is no worker. For tests.
pub fn contexts() -> Option<(usize, bool)> {
    crate::sched::worker::current().map(|w| (std::ptr::from_ref(&*w).addr(), w.shared.deque.has_contexts()))
}
