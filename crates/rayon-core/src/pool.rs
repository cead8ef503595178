//! A pool of either kind, and the caller's.
//!
//! There are two kinds of pools: [`shared`](crate::shared), the workers of Myriad, and
//! [`own`](crate::own). Here is what they have in common; a function of the interface asks for the
//! caller's pool and calls one of these. (But for `join`, which is in a hurry.)

use crate::broadcast::BroadcastContext;
use crate::own::registry::Registry;
use crate::own::worker::Worker;
use crate::{global, own, shared};
use myriad_core::Handle;
use myriad_core::engine::guest;
use std::sync::Arc;

/// A pool.
#[derive(Debug, Clone)]
pub(crate) enum Pool {
    /// One of a runtime of Myriad.
    Shared(Handle),
    /// One with own threads.
    Own(Arc<Registry>),
}

impl Pool {
    /// The pool of the calling job; on other threads the global one.
    pub(crate) fn current() -> Pool {
        if let Some(worker) = guest::worker() {
            return Pool::Shared(worker.pool());
        }
        match Worker::current() {
            Some(w) => Pool::Own(w.registry.clone()),
            None => global::pool(),
        }
    }

    pub(crate) fn threads(&self) -> usize {
        match self {
            Pool::Shared(pool) => pool.workers(),
            Pool::Own(registry) => registry.threads(),
        }
    }

    /// Which of the pool's workers the caller is.
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Pool::Shared(pool) => shared::worker_in(*pool).map(|worker| worker.index()),
            Pool::Own(registry) => registry.worker().map(|w| w.index),
        }
    }

    /// Runs `f` on a worker of the pool: right here, if the caller is one. It is told whether it
    /// came from elsewhere.
    pub(crate) fn in_worker<F, R>(&self, f: F) -> R
    where
        F: FnOnce(bool) -> R + Send,
        R: Send,
    {
        let is_inside = match self {
            Pool::Shared(pool) => shared::worker_in(*pool).is_some(),
            Pool::Own(registry) => registry.worker().is_some(),
        };
        if is_inside {
            return f(false);
        }
        let (mut f, mut result) = (Some(f), None);
        self.call_in_worker(&mut || result = f.take().map(|f| f(true)));
        result.expect("called there")
    }

    /// Calls `f` on a worker of the pool, and waits. (It knows nothing of types: `join` would be
    /// compiled for each a dozen times.)
    #[inline(never)]
    fn call_in_worker(&self, f: &mut (dyn FnMut() + Send)) {
        match self {
            Pool::Shared(pool) => {
                guest::expect_jobs(*pool);
                guest::run(*pool, f);
            }
            Pool::Own(registry) => registry.call_in_worker(f),
        }
    }

    pub(crate) fn spawn(&self, f: impl FnOnce() + Send + 'static) {
        match self {
            Pool::Shared(pool) => shared::spawn(*pool, f),
            Pool::Own(registry) => own::detached::spawn(registry, f),
        }
    }

    pub(crate) fn spawn_fifo(&self, f: impl FnOnce() + Send + 'static) {
        match self {
            Pool::Shared(pool) => shared::spawn_fifo(*pool, f),
            Pool::Own(registry) => own::detached::spawn_fifo(registry, f),
        }
    }

    pub(crate) fn broadcast<F, R>(&self, f: F) -> Vec<R>
    where
        F: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        match self {
            Pool::Shared(pool) => shared::broadcast(*pool, f),
            Pool::Own(registry) => own::detached::broadcast(registry, f),
        }
    }

    pub(crate) fn spawn_broadcast<F>(&self, f: F)
    where
        F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        match self {
            Pool::Shared(pool) => shared::spawn_broadcast(*pool, f),
            Pool::Own(registry) => own::detached::spawn_broadcast(registry, f),
        }
    }
}
