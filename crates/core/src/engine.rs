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
    pub use crate::sched::wait::{
        BEHIND_WAIT, Caller, CancelFn, InHand, MultiWait, PairClaim, Parked, PollWait, Wait, WaitReason, Waiter,
        note_timed_out,
    };
    pub use crate::sched::waker::WakerWord;
}

/// The door through which code of users runs: their wakers, destructors and hooks.
///
/// [`call`](user_code::call) and [`run`](user_code::run) are where a piece of it begins, with its
/// panic as a result, or said on the standard error. [`UserValue`](user_code::UserValue) is a value
/// of the user's, and [`StoredWaker`](user_code::StoredWaker) a waker, whose destructors run there.
pub mod user_code {
    pub use crate::sched::unhandled::report_text as report;
    pub use crate::sched::user_code::{StoredWaker, UserValue, body, call, run};
}

/// The seam to what waits in the system for sockets: [`Reactor`](reactor::Reactor), one for each
/// pool whose tasks wait for sockets, which [`here`](reactor::here) makes and finds.
pub mod reactor {
    pub use crate::sched::driver::look_before_wait;
    pub use crate::sched::driver::reactor::Reactor;

    /// The reactor of the calling task's pool, or, of another caller, that of the global runtime.
    /// If there is none yet, `make` makes it; of two that are made at the same time one is dropped.
    ///
    /// # Errors
    /// Those of `make`.
    ///
    /// # Panics
    /// In a child of a fork, for a runtime of the parent: nobody would look.
    pub fn here<E>(make: impl FnOnce() -> Result<Box<dyn Reactor>, E>) -> Result<&'static dyn Reactor, E> {
        let pool = crate::runtime::pools::here().inner();
        pool.expect_here();
        let workers = &pool.workers;
        if let Some(reactor) = workers.reactor.get().filter(|reactor| reactor.is_here()) {
            return Ok(reactor);
        }
        let reactor = workers.reactor.get_or_set(make()?);
        // Those that sleep do so elsewhere, and the caller may compute for long, or be no worker.
        workers.wake_all();
        Ok(reactor)
    }
}

/// Where what tasks wait for was made, for dumps.
pub mod made {
    pub use crate::queue::made::{Questions, forget, is_on, note};
}

/// What is done with panics.
pub mod unwind {
    pub use crate::sched::cancel::{cancellation, end_cancellation, is_cancellation};
    pub use crate::sched::unwind::{discard, drop_quietly, resume};
    pub use myriad_base::unwind::{Payload, catch};
}

/// What the stand-in for another library's scheduler (rayon's) needs to know of ours.
///
/// - Where the caller is: [`worker`](guest::worker), as a [`WorkerRef`](guest::WorkerRef) that
///   knows its number and [runs one](guest::WorkerRef::run_one) from its [`Queues`](guest::Queues);
///   [`is_own_thread`](guest::is_own_thread), [`is_global_running`](guest::is_global_running),
///   [`outside`](guest::outside).
/// - Jobs, which only workers begin, no spares: [`join`](guest::join), [`run`](guest::run),
///   [`spawn_job`](guest::spawn_job), [`spawn_job_in`](guest::spawn_job_in),
///   [`spawn_on_worker`](guest::spawn_on_worker), once [`expect_jobs`](guest::expect_jobs) was
///   called.
/// - Of a pool: [`number`](guest::number), [`is_same`](guest::is_same),
///   [`has_idle`](guest::has_idle), and [`when_idle`](guest::when_idle) for a worker that falls
///   asleep.
pub mod guest {
    pub use crate::api::guest::{
        Queues, WorkerRef, expect_jobs, has_idle, is_global_running, is_own_thread, is_same, join, number, outside,
        run, spawn_behind, spawn_detached_here, spawn_job, spawn_job_in, spawn_on_worker, when_idle, worker,
    };
}

/// Lazy splitting of loops.
///
/// [`idle_workers`](split::idle_workers) says who else wants work, [`publish`](split::publish) and
/// [`publish_one`](split::publish_one) give of it, [`on_worker`](split::on_worker) brings a caller
/// among the [`workers`](split::workers).
pub mod split {
    pub use crate::api::split::{IdleWorkers, idle_workers, on_worker, publish, publish_one, workers};
}

/// Which task is under way: [`UnderWay`](running::UnderWay), to be known again, or to be cancelled
/// by one who knows that it has not ended, without a handle and without a table; and whether
/// [something may run](running::has_room) on top of it, or [after it](running::is_as_new) in the
/// same task; and who hears of it if the runtime ends and [leaves](running::watched) the task
/// blocked. [`call_nested`](running::call_nested) calls ends that bring about others, a few on top
/// of each other.
pub mod running {
    pub use crate::api::nested::call_nested;
    pub use crate::api::running::{ToTell, UnderWay, Watcher, delay_shutdown, has_room, is_as_new, watched};
    pub use crate::sched::pool::ShutdownDelay;
}

/// Tasks of a scope without handles: [`spawn_detached`](scope::spawn_detached).
pub mod scope {
    pub use crate::api::scope::spawn_detached;
}

/// Errors of joins that are no task's of the engine.
pub mod join_error {
    pub use crate::api::error::{itself, panicked};
}

/// The scoped values of a moment, for work that goes through a queue of the crates above instead of
/// a spawn: [`Captured`](scoped::Captured).
pub mod scoped {
    pub use crate::sched::context::Captured;
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

/// What tests of the workspace ask, and nobody else.
pub mod testing {
    pub use crate::sched::rescue::stuck::hint_after;

    /// The calling worker's address, and whether that worker reckons with task-locals of its tasks.
    /// `None` on a thread that is no worker.
    pub fn contexts() -> Option<(usize, bool)> {
        crate::sched::worker::current().map(|w| (std::ptr::from_ref(&*w).addr(), w.has_contexts()))
    }
}
