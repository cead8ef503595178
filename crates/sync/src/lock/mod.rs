//! Locks and meeting points: what `std::sync` has, in name and shape, and more; for tasks, futures
//! and threads alike.
//!
//! | | |
//! |---|---|
//! | [`Mutex`], [`RwLock`], [`ReentrantLock`] | one at a time; many readers or one writer; the owner may lock again |
//! | [`Condvar`], [`Condition`] | waiting for what a mutex protects; for a notification that carries a value |
//! | [`Semaphore`] | so many at a time, or so much |
//! | [`Event`], [`Latch`], [`WaitGroup`], [`Barrier`] | until something was done: once, so often, by all |
//! | [`Once`], [`OnceLock`], [`LazyLock`] | making something once |
//! | [`SingleFlight`] | doing something once for all who want it at the same time |
//!
//! Whoever waits is set aside, and its worker goes on; a foreign thread sleeps. So a lock may be
//! held over any wait, and of ten thousand tasks that wait for one lock none holds up a worker.
//! What waits for a lock never runs another task on top of its stack: a lock that is held below
//! could not be given back.
//!
//! Each wait exists in the same endings: `lock` waits, `try_lock` never does, `lock_timeout` and
//! `lock_deadline` wait so long, `lock_async` is a future, `lock_timeout_async` one that waits so
//! long. A wait that is given up, by a time limit or by dropping its future, has had no effect: a
//! permit or a lock that it was given meanwhile goes to the next one. Nobody is woken for nothing.
//! *Timeout* is only said of what was not possible at some moment between the deadline and the
//! answer.
//!
//! A guard that outlives its borrow is `into_owned`, with the `Arc` that the lock is in; `map`
//! makes one of a part of the value.
//!
//! # Cancellation
//! Each of these waits ends if the task is [cancelled](myriad_core::cancel): it is given up, and
//! the task unwinds. (Or it was done at that moment: then the cancellation arrives at the next
//! wait.) A section that is interrupted so, at a wait within it, poisons its lock, as a panic does:
//! what it was doing to the value it has done in part. An initialiser that is interrupted poisons
//! its `Once`.
//!
//! Errors, poisoning and guards are std's. Guards are `Send`, but for the [`ReentrantLock`]'s: a
//! future that holds one over an `await` may move to another worker.

mod awaited;
mod barrier;
mod condition;
mod condvar;
mod countdown;
mod error;
pub(crate) mod event;
mod latch;
mod lazy;
mod mapped;
mod mutex;
mod once;
mod once_lock;
pub(crate) mod op;
mod poison;
mod raw;
mod raw_rw;
pub(crate) mod readiness;
mod reentrant;
mod rwlock;
mod semaphore;
mod single_flight;
mod wait_group;
mod wait_queue;

pub use barrier::{Barrier, BarrierFuture, BarrierWaitResult};
pub use condition::{Condition, First, NotifiedFuture, NotifiedWithFuture};
pub use condvar::{ConditionFuture, Condvar, WaitTimeoutResult};
pub use countdown::ZeroFuture;
pub use error::{LockTimeoutError, TimeoutError};

pub use event::{Event, EventFuture};
pub use latch::Latch;
pub use lazy::LazyLock;
pub use mapped::MappedGuard;
pub use mutex::{LockFuture, Mutex, MutexGuard, OwnedMutexGuard};
pub use once::{Once, OnceFuture, OnceState};
pub use once_lock::{OnceLock, OnceLockFuture};
pub use reentrant::{ReentrantLock, ReentrantLockFuture, ReentrantLockGuard};
pub use rwlock::{
    OwnedRwLockReadGuard, OwnedRwLockWriteGuard, ReadFuture, RwLock, RwLockReadGuard, RwLockWriteGuard, WriteFuture,
};
pub use semaphore::{AcquireFuture, OwnedPermit, Permit, Semaphore};
pub use single_flight::SingleFlight;
pub use wait_group::{Done, WaitGroup};
