//! Jobs of an own pool that nobody waits for, and such as run on every worker.

use super::job::{Job, boxed};
use super::latch::Latch;
use super::registry::Registry;
use crate::broadcast::{BroadcastContext, gather};
use crate::user_code;
use std::sync::Arc;

/// A job that keeps the pool.
fn keeping<F: FnOnce() + Send + 'static>(registry: &Arc<Registry>, f: F) -> Job {
    registry.keep();
    let registry = registry.clone();
    let run = move || {
        if let Err(payload) = user_code::body(f) {
            registry.detached_panic(payload);
        }
        registry.release();
    };
    // SAFETY: the closure borrows nothing.
    unsafe { boxed(run) }
}

pub(crate) fn spawn(registry: &Arc<Registry>, f: impl FnOnce() + Send + 'static) {
    registry.push(keeping(registry, f));
}

pub(crate) fn spawn_fifo(registry: &Arc<Registry>, f: impl FnOnce() + Send + 'static) {
    match registry.worker() {
        Some(w) => {
            let stand_in = w.fifo.put(Box::new(f));
            w.push(keeping(registry, move || stand_in.call()));
        }
        None => registry.inject(keeping(registry, f)),
    }
}

pub(crate) fn spawn_broadcast<F>(registry: &Arc<Registry>, f: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    let n = registry.threads();
    let f = Arc::new(f);
    registry.broadcast((0..n).map(|index| {
        let f = f.clone();
        keeping(registry, move || f(BroadcastContext::new(index, n)))
    }));
}

pub(crate) fn broadcast<F, R>(registry: &Arc<Registry>, f: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    gather(registry.threads(), Latch::of_caller(Some(registry)), f, |calls| {
        // SAFETY: it owns what it borrows, as far as we are concerned.
        registry.broadcast(calls.into_iter().map(|call| unsafe { boxed(call) }));
    })
}
