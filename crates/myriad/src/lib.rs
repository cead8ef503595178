//! Lightweight tasks: closures that may block and futures, on the same workers.
//!
//! A program spawns tasks by the million. They wait for each other, for channels and for time
//! without holding up a worker; a task that never waits costs about as much as a call. Whatever
//! blocks here may be called from anywhere: from a closure, from a future's poll, from a thread
//! that has nothing to do with Myriad. Nothing is "inside" or "outside" of a runtime.
//!
//! ```
//! use myriad::channel::bounded;
//!
//! let total = myriad::run(|| {                             // we are a task now
//!     let (tx, rx) = bounded(16);
//!     for worker in 0..4_u64 {
//!         let tx = tx.clone();
//!         myriad::spawn(move || {                          // a task: it may block
//!             (0..10).try_for_each(|i| tx.send(10 * worker + i))
//!         });
//!     }
//!     drop(tx);                                            // the tasks have the other ends
//!     rx.iter().sum::<u64>()                               // until the last of them is gone
//! });
//! assert_eq!(total, 780);
//! ```
//!
//! # What there is
//!
//! | | |
//! |---|---|
//! | [`run`], [`spawn`], [`JoinHandle`] | tasks from closures, and their results |
//! | [`join`], [`scope`] | fork and join, with borrowed data |
//! | [`spawn_async`], [`block_on`] | tasks from futures; waiting for any future |
//! | [`blocking`], [`compute`] | calls that hold up their thread, long computations; also as futures |
//! | [`spawn_on`], [`task::Priority`], [`task::dedicated`] | where and when: pools, priorities, a thread of its own |
//! | [`actor`] | actors: mailboxes, servers, links, monitors, supervisors, names |
//! | [`par`] | parallel loops, maps, reductions, prefix scans, sorts |
//! | [`channel`] | bounded, unbounded, rendezvous; each operation blocking, trying, with a time limit, or as a future |
//! | [`sync`] | locks that suspend, with std's names: mutexes, conditions, semaphores, barriers, events, and more |
//! | [`select!`](crate::select!), [`Select`](select::Select) | wait for the first of several operations |
//! | [`time`] | sleeps and time limits, as calls and as futures |
//! | [`Builder`], [`Runtime`] | settings, several runtimes, shutdown with a report |
//! | [`task`], [`task_local!`] | names, numbers; task-locals; scoped values that children inherit; [`yield_now`] |
//! | [`rng`](rng()) | random numbers that do not depend on the schedule |
//! | [`platform`](platform()) | what the engine found on this machine |
//!
//! # Two modes of blocking
//!
//! In *threads mode*, the default, a closure that blocks keeps its OS thread, and another thread
//! goes on as the worker. It is safe for any code. In *fiber mode* its stack is set aside and the
//! worker's thread runs the next task: some nanoseconds instead of microseconds. It is switched on
//! by one `unsafe` call, [`Builder::fibers`], whose contract is that no code in tasks blocks inside
//! a thread-local scope. All else is the same: one API, one engine, the same tests. Futures are not
//! concerned: waiting, they have no stack. `docs/SOUNDNESS.md` has the programs that show why the
//! contract is needed.
//!
//! # What to know first
//!
//! - **A task that has blocked goes on on the same OS thread**; one that has not begun may run on
//!   any worker. So a blocked task may hold an `Rc` or a guard. If another task keeps that thread
//!   busy, it has to wait until the thread is free. Futures move freely between workers.
//! - **Nobody is interrupted.** A loop that computes keeps its worker. Others take its unstarted
//!   tasks and futures.
//! - **Locks of std block the whole worker.** Do not wait (for a channel, a join, a time) while you
//!   hold one: a task that wants the lock then blocks the worker that has to wake you. Those of
//!   [`sync`] have the same names, and suspend only the task.
//! - **A panic** stops at the task and reaches whoever joins it. **A dropped handle** detaches its
//!   task.
//! - **A stack** has 64 KiB in fiber mode ([`Builder::stack_size`]); an overflow ends the process,
//!   and names the task.
//!
//! The repository has pages beside this one, from `docs/GETTING-STARTED.md` to `docs/ERRORS.md`.
//! The package is `myriad-rt`, the library `myriad`.
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub use myriad_actor as actor;
pub use myriad_base::platform::{Platform, platform};
pub use myriad_core::cancel;
pub use myriad_core::task::rng;
pub use myriad_core::task::rng::rng;
pub use myriad_core::{
    Blocking, Builder, Errors, Handle, JoinError, JoinHandle, NoPool, OnStuck, Policy, Report, Runtime, Scope,
    ScopedJoinHandle, State, Stuck, TryScope, Unfinished, Unhandled, WaitReason, block_on, blocking, blocking_async,
    compute, compute_async, join, race, run, scope, spawn, spawn_async, spawn_async_on, spawn_on, task_local,
    try_scope, yield_now,
};
pub use myriad_par as par;
pub use myriad_sync::{channel, select, select_async};

/// Locks that suspend: those of `std::sync`, in name and shape, and more.
///
/// What of std's works with them is here too, so that `use std::sync::…` can become
/// `use myriad::sync::…`.
pub mod sync {
    pub use myriad_sync::lock::*;
    pub use myriad_sync::shared::{Map, Pool, Pooled};
    pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic};
}

/// Tasks: names, and what there is beside [`spawn`].
pub mod task {
    pub use myriad_core::task::{
        AccessError, Bound, Builder, Canceller, GangError, Group, Local, LocalKey, Place, Priority, ScopedValue, Task,
        TaskId, YieldedTo, current, dedicated, dispatch, gang, keep_thread, try_gang,
    };
    pub use myriad_core::yield_now;
    pub use myriad_task::{
        JoinSet, LocalJoinHandle, LocalScope, local_scope, map_concurrent, map_concurrent_unordered, try_map_concurrent,
    };
}

/// A scheduler of one's own: the interface by which a program decides what a worker runs next.
///
/// [`Scheduler`](scheduler::Scheduler) has the two methods, and says when they are called and what
/// they may do; [`Builder::scheduler`] chooses one, [`task::Builder::property`] gives a task what
/// the scheduler sorts by.
pub mod scheduler {
    pub use myriad_core::scheduler::{Cause, Distance, PoolInfo, ReadyTask, Scheduler, Topology, Turn, set_property};
}

/// Time: sleeping, instants.
pub mod time {
    pub use myriad_core::time::{
        Elapsed, Instant, Sleep, Timeout, deadline, deadline_async, now, sleep, sleep_async, sleep_until,
        sleep_until_async, timeout, timeout_async,
    };
    pub use myriad_task::{Timer, call_later};
}

// What the compiler refuses: tests that something does not compile.
#[cfg(doctest)]
#[doc = include_str!("../tests/type_rules.md")]
mod _type_rules {}
