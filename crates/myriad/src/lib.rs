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
//! | [`agent`] | agents, as in Clojure: a value that actions change, one after the other |
//! | [`flow`] | operations on channels, networks of processes, task graphs |
//! | [`par`] | parallel loops, maps, reductions, prefix scans, sorts |
//! | `net`, `io` | TCP, UDP and Unix sockets; pipes, copying (on Linux; feature `net`, which is on) |
//! | `hyper` | with the feature `hyper`: HTTP servers, whose handlers may block, and clients |
//! | `jobs` | with the feature `jobs`: a queue of jobs with priorities, resources, dependencies, time |
//! | [`channel`] | bounded, unbounded, oneshot, watch, broadcast; blocking, trying, with a time limit, as a future |
//! | [`sync`] | locks that suspend, with std's names: mutexes, conditions, semaphores, barriers, events, and more |
//! | [`select!`](crate::select!), [`Select`](select::Select) | wait for the first of several operations |
//! | [`time`] | sleeps and time limits, as calls and as futures |
//! | [`cancel`], [`try_scope`], [`race`] | ending tasks; the first error, or result, cancels the others |
//! | [`dump()`](dump()) | what all tasks do, and wait for |
//! | [`Builder`], [`Runtime`] | settings, several runtimes, shutdown with a report |
//! | [`metrics()`], [`Metrics`] | what workers do, as numbers, as a table, and for Prometheus |
//! | [`task`], [`task_local!`] | names, numbers; task-locals; scoped values that children inherit; [`yield_now`] |
//! | [`rng`](rng()) | random numbers that do not depend on the schedule |
//! | [`platform`](platform()) | what the engine found on this machine |
//!
//! # Two modes of blocking
//!
//! | what a waiting task keeps | | how many can wait |
//! |---|---|---|
//! | a closure in *threads mode*, the default | an OS thread | about 15,000 |
//! | a closure in *fiber mode*, [`Builder::fibers`] | a stack, some 4 KiB | millions (Linux 6.13 and later) |
//! | a future, in both modes | some hundred bytes | millions |
//!
//! Threads mode is safe for any code, and a wait costs what a wait of threads costs: microseconds.
//! Fiber mode takes one `unsafe` call, whose contract is that no code in tasks blocks inside a
//! thread-local scope, in the initialiser of a thread-local, or in a destructor that unwinding
//! runs; a wait costs nanoseconds. All else is the same: one API, one engine, the same tests.
//! [Which mode?] has figures, and [SOUNDNESS] the programs that show why the contract is needed.
//!
//! # What to know first
//!
//! - **A closure that has begun never changes its OS thread**, so it may hold an `Rc` or a guard
//!   while it waits. If another task keeps that thread busy, the closure has to wait until the
//!   thread is free. What has not begun may run on any worker, and futures move freely.
//! - **Nothing is preempted.** A loop that computes keeps its worker. Other workers take the tasks
//!   and futures that wait behind it.
//! - **Locks of std block the whole worker.** Do not wait (for a channel, a join, a time) while you
//!   hold one: a task that wants the lock then blocks the worker that has to wake you. Those of
//!   [`sync`] have the same names, and suspend only the task.
//! - **A panic** stops at the task, and whoever joins the task gets it. A scope passes on the panic
//!   of a task that was not joined. **A dropped handle** detaches its task.
//! - **A stack** has 64 KiB in fiber mode ([`Builder::stack_size`]); an overflow ends the process,
//!   and names the task.
//!
//! The package is `myriad-rt`, the library `myriad`. More pages: [Getting started], the [Cookbook],
//! and what each [message] means.
//!
//! [Which mode?]: https://github.com/myriad-rt/myriad/blob/main/docs/MODES.md
//! [SOUNDNESS]: https://github.com/myriad-rt/myriad/blob/main/docs/SOUNDNESS.md
//! [Getting started]: https://github.com/myriad-rt/myriad/blob/main/docs/GETTING-STARTED.md
//! [Cookbook]: https://github.com/myriad-rt/myriad/blob/main/docs/COOKBOOK.md
//! [message]: https://github.com/myriad-rt/myriad/blob/main/docs/ERRORS.md
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub use myriad_actor as actor;
#[doc(inline)]
pub use myriad_agent as agent;
pub use myriad_base::platform::{Platform, platform};
pub use myriad_core::cancel;
pub use myriad_core::dump;
pub use myriad_core::task::rng;
pub use myriad_core::task::rng::rng;
pub use myriad_core::{
    Blocking, Builder, CallMetrics, Deadlock, Errors, Handle, JoinError, JoinHandle, LatencyMetrics, Metrics, NoPool,
    OnDeadlock, OnStuck, Policy, PoolMetrics, Report, Runtime, Scope, ScopedJoinHandle, State, Stuck, TryScope,
    Unfinished, Unhandled, WaitReason, WorkerActivity, WorkerCounts, WorkerMetrics, block_on, blocking, blocking_async,
    compute, compute_async, join, metrics, race, run, scope, spawn, spawn_async, spawn_async_on, spawn_on, task_local,
    try_scope, yield_now,
};
pub use myriad_flow as flow;
#[cfg(all(feature = "hyper", target_os = "linux"))]
#[doc(inline)]
pub use myriad_hyper as hyper;
#[cfg(all(feature = "net", target_os = "linux"))]
#[doc(inline)]
pub use myriad_io::{io, net};
#[cfg(feature = "jobs")]
#[doc(inline)]
pub use myriad_jobs as jobs;
#[doc(inline)]
pub use myriad_par as par;
pub use myriad_sync::{channel, select, select_async};

pub mod sync {
    //! Locks that suspend: those of `std::sync`, in name and shape, and more.
    //!
    //! | | |
    //! |---|---|
    //! | [`Mutex`], [`RwLock`], [`ReentrantLock`] | one at a time; many readers or one writer; again by the owner |
    //! | [`Condvar`], [`Condition`] | waiting for what a mutex protects; for a notification that carries a value |
    //! | [`Semaphore`] | so many at a time, or so much |
    //! | [`Event`], [`Latch`], [`WaitGroup`], [`Barrier`] | until something was done: once, so often, by all |
    //! | [`Once`], [`OnceLock`], [`LazyLock`] | making something once |
    //! | [`SingleFlight`] | doing something once for all who want it at the same time |
    //! | [`Map`], [`Pool`] | a hash map for many tasks; objects that are used again |
    //!
    //! A task that waits for a lock is suspended, and its worker runs other tasks; a foreign thread
    //! sleeps. So a lock may be held over any wait. Each wait has the same forms: `lock` waits,
    //! `try_lock` does not, `lock_timeout` and `lock_deadline` have a limit, `lock_async` is a
    //! future, and `lock_timeout_async` a future with a limit. A wait that is given up, by its
    //! limit, by a cancellation or by dropping its future, has had no effect.
    //!
    //! Guards are `Send`, but for the [`ReentrantLock`]'s: a future may hold one over an `.await`.
    //! What of std's works with these locks is here too, so that `use std::sync::…` can become
    //! `use myriad::sync::…`.
    //!
    //! # Examples
    //! ```
    //! use myriad::sync::{Arc, Mutex};
    //! let total = Arc::new(Mutex::new(0));
    //! let tasks: Vec<_> = (1..=4)
    //!     .map(|n| {
    //!         let total = total.clone();
    //!         myriad::spawn(move || *total.lock().unwrap() += n) // the task waits, its worker does not
    //!     })
    //!     .collect();
    //! tasks.into_iter().for_each(|task| task.join().unwrap());
    //! assert_eq!(*total.lock().unwrap(), 10);
    //! ```

    pub use myriad_sync::lock::*;
    pub use myriad_sync::shared::{Map, Pool, Pooled};
    pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak, atomic};
}

/// Tasks: what there is beside [`spawn`]. Builders, sets, groups, priorities, places, task-locals.
///
/// # Examples
/// ```
/// use myriad::task::{Builder, JoinSet, map_concurrent};
///
/// // A task with a name, which errors and reports contain.
/// let named = Builder::new().name("parser").spawn(|| "7".parse::<u32>());
/// assert_eq!(named.join().unwrap(), Ok(7));
///
/// // Results in the order in which they come, and in the order of the items.
/// let mut set = JoinSet::new();
/// (1..=3).for_each(|n| _ = set.spawn(move || n * n));
/// assert_eq!(set.map(Result::unwrap).sum::<u32>(), 14);
/// assert_eq!(map_concurrent(2, 1..=3, |n| n * n), [1, 4, 9]);
/// ```
pub mod task {
    pub use myriad_core::task::{
        AccessError, Bound, Builder, Canceller, GangError, Group, Local, LocalKey, Place, Priority, ScopedValue, Task,
        TaskClosure, TaskId, YieldedTo, current, dedicated, dispatch, gang, keep_thread, try_gang,
    };
    pub use myriad_core::yield_now;
    pub use myriad_task::{
        JoinSet, LocalJoinHandle, LocalScope, local_scope, map_concurrent, map_concurrent_unordered, try_map_concurrent,
    };
}

/// A scheduler of one's own: the interface by which a program decides what a worker runs next.
/// Example: [`Scheduler`](scheduler::Scheduler).
///
/// [`Scheduler`](scheduler::Scheduler) has the two methods, and says when they are called and what
/// they may do; [`Builder::scheduler`] chooses one, [`task::Builder::property`] gives a task what
/// the scheduler sorts by.
pub mod scheduler {
    pub use myriad_core::scheduler::{Cause, Distance, PoolInfo, ReadyTask, Scheduler, Topology, Turn, set_property};
}

/// Time: sleeping, instants, time limits.
///
/// # Examples
/// ```
/// use myriad::time::{now, sleep, timeout};
/// use std::time::Duration;
/// let start = now();
/// sleep(Duration::from_millis(1));
/// assert!(now() - start >= Duration::from_millis(1));
/// assert!(timeout(Duration::from_millis(1), || sleep(Duration::from_secs(3600))).is_err());
/// ```
pub mod time {
    pub use myriad_core::time::{
        Elapsed, Instant, Sleep, TimedOut, Timeout, deadline, deadline_async, now, sleep, sleep_async, sleep_until,
        sleep_until_async, timeout, timeout_async, why_timed_out,
    };
    pub use myriad_task::{Timer, call_later};
}

// What the compiler refuses: tests that something does not compile.
#[cfg(doctest)]
#[doc = include_str!("../tests/type_rules.md")]
mod _type_rules {}
