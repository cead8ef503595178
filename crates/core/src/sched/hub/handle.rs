//! Handles of pools, and the pools of one runtime.

use super::Hub;
use crate::sched::worker::Worker;
use std::sync::Arc;

/// A way to spawn into a runtime, or one pool of it, from anywhere; a copy of a reference.
///
/// A runtime's handle spawns into the pool `default`; [`Handle::pool`] gives that of another.
///
/// It may outlive its runtime. What is spawned then is dropped, and its handle says so
/// ([`JoinError::is_shutdown`](crate::JoinError)); it never reaches another runtime, however alike
/// the two are.
//
// Hubs are used again by later runtimes, so a handle says of which of them it is. That is compared
// where a task is queued from elsewhere, under the lock that is taken there anyway; what a worker
// spawns for itself does not come by.
#[derive(Debug, Clone, Copy)]
pub struct Handle {
    hub: &'static Hub,
    term: u64,
}

impl Handle {
    /// Of the runtime that uses this hub now, as the caller knows.
    #[inline]
    pub(crate) fn of(hub: &'static Hub) -> Handle {
        Handle { hub, term: hub.term() }
    }

    /// Which of the runtimes is meant that have used the hub.
    pub(crate) fn term(self) -> u64 {
        self.term
    }

    /// Has no other runtime the hub by now? (For a caller who wants to be certain, under the
    /// injector's lock.)
    pub(crate) fn is_of_now(self) -> bool {
        self.term == self.hub.term()
    }

    /// Do both mean the same pool of the same runtime?
    pub(crate) fn is(self, other: Handle) -> bool {
        std::ptr::eq(self.hub, other.hub) && self.term == other.term
    }

    /// Is this one of the pool's workers? (A worker works for the runtime that uses its hub now.)
    #[inline]
    pub(crate) fn has(self, w: &Worker) -> bool {
        std::ptr::eq(w.hub, self.hub) && self.is_of_now()
    }

    /// The pool that it spawns into.
    pub(crate) fn hub(self) -> &'static Hub {
        self.hub
    }
}

/// The pools of a runtime, the default one first.
#[derive(Debug)]
pub(crate) struct Family(pub(crate) Box<[(Arc<str>, Handle)]>);

impl Family {
    /// Of a hub that no runtime uses yet.
    pub(crate) fn none() -> Family {
        Family(Box::new([]))
    }

    /// The hubs of all pools.
    pub(crate) fn hubs(&self) -> Vec<&'static Hub> {
        self.0.iter().map(|pool| pool.1.hub()).collect()
    }

    /// The place of this pool. `None`: its runtime has ended, and another has its hub.
    pub(crate) fn place_of(&self, handle: Handle) -> Option<usize> {
        self.0.iter().position(|pool| pool.1.is(handle))
    }
}
