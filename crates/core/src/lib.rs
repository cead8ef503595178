//! The engine of Myriad: workers, tasks, stacks, waiting, timers.
//!
//! Programs use it through the crate `myriad`; the crates between build on [`engine`]. A folder
//! uses only those below it:
//!
//! ```text
//! api       what users call: spawn, join, scope, sleep, task-locals, blocking
//! runtime   builder, pools, shutdown, report, dump, deadlocks
//! sched     workers and their loop, sleep and wake, waiting, timers, cancellation
//! queue     deque, inbox, policies, parked waits
//! record    a task's header, state, result and memory
//! ```
//!
//! To read it, begin with `sched::run_loop` (what a worker does), `record::header` (what a task is)
//! and `queue::deque` (how work is shared).
// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod api;
#[cfg(all(test, not(loom)))]
mod facts;
mod queue;
mod record;
mod runtime;
mod sched;

pub mod cancel;
pub mod engine;

/// Tasks: names, and what there is beside [`spawn`].
pub mod task {
    pub use crate::api::{
        Builder, Canceller, GangError, Group, Local, Place, Task, TaskClosure, TaskId, YieldedTo, current, dedicated,
        dispatch, gang, keep_thread, try_gang,
    };
    pub use crate::sched::context::{AccessError, Bound, LocalKey, ScopedValue, rng};
    pub use crate::sched::priority::Priority;
}

/// A scheduler of one's own: the interface by which a program decides what a worker runs next.
pub mod scheduler {
    pub use crate::api::property::set_property;
    pub use crate::queue::policy::ready_task::ReadyTask;
    pub use crate::queue::policy::scheduler::{Cause, PoolInfo, Scheduler, Turn};
    pub use myriad_base::sys::thread::{Distance, Topology};
}

/// What all tasks do at a moment. Example: [`dump()`](crate::dump()).
pub mod dump {
    pub use crate::runtime::dump::{
        Activity, CallThreads, Doing, Dump, PoolState, TaskState, ThreadState, WhyWaiting, WorkerState,
    };
}

/// Time: the timers of a worker, and sleeping.
pub mod time {
    pub use crate::api::time::{
        Elapsed, Sleep, TimedOut, Timeout, deadline, deadline_async, now, sleep, sleep_async, sleep_until,
        sleep_until_async, timeout, timeout_async, why_timed_out,
    };
    pub use myriad_base::sys::clock::Instant;
}

pub use crate::sched::pool::Handle;
pub use api::blocking::{Blocking, blocking, blocking_async, compute, compute_async};
pub use api::run::{run, spawn_async_on, spawn_on, yield_now};
pub use api::{
    Errors, JoinError, JoinHandle, Scope, ScopedJoinHandle, TryScope, block_on, join, race, scope, spawn, spawn_async,
    try_scope,
};
pub use queue::policy::Policy;
pub use queue::reason::WaitReason;
pub use runtime::deadlock::{Deadlock, OnDeadlock};
pub use runtime::dump::dump;
pub use runtime::{
    Builder, CallMetrics, LatencyMetrics, Metrics, NoPool, PoolMetrics, Report, Runtime, State, Unfinished,
    WorkerActivity, WorkerCounts, WorkerMetrics, metrics,
};
pub use sched::rescue::stuck::{OnStuck, Stuck};
pub use sched::unhandled::Unhandled;

// The models look at everything inside; so they are a module of the crate. They are built from
// crates/models, which has loom: scripts/loom.sh, scripts/mutants.sh.
#[cfg(all(test, loom))]
#[path = "../tests/loom/main.rs"]
mod models;
