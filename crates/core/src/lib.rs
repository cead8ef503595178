//! The engine of Myriad: workers, tasks, stacks, waiting, timers.
//!
//! People use it through the crate `myriad`; the floors between build on [`wait`] and [`lock`]. To read it, begin with
//! `sched::turn` (what a worker does), `task::header` (what a task is) and `sched::deque` (how work is shared).
// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "Myriad needs a 64-bit processor: wakers keep a generation above an address, and positions in queues never wrap around. \
     docs/PLATFORM.md lists the platforms."
);

mod blocking;
pub mod cancel;
pub mod guest;
pub mod lock;
pub mod platform;
pub mod runtime;
pub mod stack;
pub mod sys;
pub mod task;
pub mod time;
pub mod unwind;
pub mod user_code;
pub mod wait;

// Scheduler, records and pools are the engine's own: many of their functions may be called only by who owns a queue, has taken a task out
// of one, or has a worker's role. The models look into them from outside. (So `pub` there says less than it does elsewhere.)
#[cfg(not(loom))]
#[allow(unreachable_pub)]
mod sched;
#[cfg(loom)]
pub mod sched;

/// What the crates above use of the scheduler: whom a loop asks who else wants work; and a counter's place in a cache line.
pub mod engine {
    pub use crate::sched::deque::Line;
    pub use crate::sched::split;
    pub use crate::task::id::owner;

    /// The calling worker's address, and whether that worker reckons with task-locals of its tasks. `None` on a thread that is no worker. For
    /// tests.
    pub fn contexts() -> Option<(usize, bool)> {
        crate::sched::worker::current().map(|w| (std::ptr::from_ref(&*w).addr(), w.member.deque.has_contexts()))
    }
}

pub use blocking::{Blocking, blocking, blocking_async, compute, compute_async};
pub use runtime::{
    Builder, Handle, NoPool, OnStuck, Report, Runtime, State, Stuck, Unfinished, Unhandled, run, spawn_async_on,
    spawn_on,
};
pub use sched::policy::Policy;
pub use task::{
    Errors, JoinError, JoinHandle, Scope, ScopedJoinHandle, TryScope, block_on, join, race, scope, spawn, spawn_async,
    try_scope,
};

/// Lets all other tasks of this worker that are ready go first; on a foreign thread, other threads.
///
/// # Blocking
/// Only as long as they take.
pub fn yield_now() {
    match sched::worker::current() {
        Some(w) => _ = w.yield_now(),
        None => sys::thread::yield_now(),
    }
}
