//! Handles of pools, and the pools of one runtime.

use super::Pool;
use crate::sched::worker::Worker;
use std::fmt;
use std::sync::Arc;

/// A way to spawn into a runtime, or one pool of it, from anywhere; a copy of a reference.
///
/// A runtime's handle spawns into the pool `default`; [`Handle::pool`] gives that of another.
///
/// It may outlive its runtime. What is spawned then is dropped, and its handle says so
/// ([`JoinError::is_shutdown`](crate::JoinError)); it never reaches another runtime, however alike
/// the two are.
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(2).build()?;
/// let handle = rt.handle();
/// let thread = std::thread::spawn(move || handle.run(|| 6) + handle.spawn(|| 36).join().unwrap());
/// assert_eq!(thread.join().unwrap(), 42);
/// drop(rt);
/// assert!(handle.spawn(|| ()).join().unwrap_err().is_shutdown());
/// # std::io::Result::Ok(())
/// ```
//
// Pools are used again by later runtimes, so a handle says of which of them it is. That is compared
// where a task is queued from elsewhere, under the lock that is taken there anyway; what a worker
// spawns for itself does not come by.
#[derive(Clone, Copy)]
pub struct Handle {
    pool: &'static Pool,
    term: u64,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_of_now() { self.pool.show("Handle", f) } else { f.write_str("Handle(of a runtime that has ended)") }
    }
}

impl Handle {
    /// Of the runtime that uses this pool now, as the caller knows.
    #[inline]
    pub(crate) fn of(pool: &'static Pool) -> Handle {
        Handle { pool, term: pool.term() }
    }

    /// Which of the runtimes is meant that have used the pool.
    pub(crate) fn term(self) -> u64 {
        self.term
    }

    /// Has no other runtime the pool by now? (For a caller who wants to be certain, under the
    /// injector's lock.)
    pub(crate) fn is_of_now(self) -> bool {
        self.term == self.pool.term()
    }

    /// Do both mean the same pool of the same runtime?
    pub(crate) fn is(self, other: Handle) -> bool {
        std::ptr::eq(self.pool, other.pool) && self.term == other.term
    }

    /// Is this one of the pool's workers? (A worker works for the runtime that uses its pool now.)
    #[inline]
    pub(crate) fn has(self, w: &Worker) -> bool {
        std::ptr::eq(w.pool, self.pool) && self.is_of_now()
    }

    /// The pool that the handle spawns into.
    pub(crate) fn inner(self) -> &'static Pool {
        self.pool
    }
}

/// The pools of a runtime, the default one first.
#[derive(Debug)]
pub(crate) struct RuntimePools(pub(crate) Box<[(Arc<str>, Handle)]>);

impl RuntimePools {
    /// Of a pool that no runtime uses yet.
    pub(crate) fn none() -> RuntimePools {
        RuntimePools(Box::new([]))
    }

    /// All of them.
    pub(crate) fn pools(&self) -> Vec<&'static Pool> {
        self.0.iter().map(|pool| pool.1.inner()).collect()
    }

    /// The index of this handle's pool. `None`: its runtime has ended, and another uses the pool.
    pub(crate) fn index_of(&self, handle: Handle) -> Option<usize> {
        self.0.iter().position(|pool| pool.1.is(handle))
    }
}
