//! The workers of Myriad as a pool.
//!
//! What is spawned here are tasks like all others. A panic that nobody waits for goes to the global
//! pool's handler, whichever runtime it is: there is one for all.
//!
//! **Numbers.** A job's number is that of the worker it runs on; arrays have a slot for each. So
//! no more jobs may *begin* at a time than there are workers: spares, which Myriad calls when
//! workers are stuck, pass them over (`guest::expect_jobs`).

use crate::broadcast::{BroadcastContext, gather};
use crate::own::latch::Latch;
use crate::own::worker::{Fifo, StandIn};
use crate::{fork, global, unwind, user_code};
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_core::engine::guest::{self, WorkerRef};
use myriad_core::engine::split;
use myriad_core::{Handle, cancel};
use std::collections::HashMap;
use std::sync::Arc;

/// The caller's worker, if it is one of this pool.
pub(crate) fn worker_in(pool: Handle) -> Option<WorkerRef> {
    guest::worker().filter(|worker| guest::is_same(worker.pool(), pool))
}

/// A job that nobody waits for.
pub(crate) fn spawn(pool: Handle, f: impl FnOnce() + Send + 'static) {
    guest::expect_jobs(pool);
    guest::spawn_job(pool, || detached(f));
    split::publish_one();
}

/// Runs it, and says what becomes of its panic.
fn detached(f: impl FnOnce()) {
    match user_code::body(f) {
        Ok(()) => {}
        // No panic: the task was cancelled, and ends so.
        Err(payload) if payload.is::<cancel::Cancelled>() => unwind::resume(payload),
        Err(payload) => user_code::tell(global::panic_handler(), payload),
    }
}

/// By pool and worker: what that worker has spawned first come, first served.
type Fifos = HashMap<(usize, usize), Arc<Fifo>>;
static FIFOS: Mutex<Option<Fifos>> = Mutex::new(None);

/// The table of them, locked.
pub(crate) type Lock = MutexGuard<'static, Option<Fifos>>;

/// For `fork`: nobody else looks at the table meanwhile.
pub(crate) fn lock() -> Lock {
    FIFOS.lock()
}

pub(crate) fn spawn_fifo(pool: Handle, f: impl FnOnce() + Send + 'static) {
    let Some(worker) = worker_in(pool) else {
        // From outside they come in one after the other anyway.
        return spawn(pool, f);
    };
    fork::watch();
    let fifo = {
        let mut fifos = lock();
        fifos.get_or_insert_default().entry((guest::number(pool), worker.index())).or_default().clone()
    };
    let stand_in = fifo.put(Box::new(f));
    spawn(pool, move || stand_in.call());
}

pub(crate) fn broadcast<F, R>(pool: Handle, f: F) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    guest::expect_jobs(pool);
    gather(pool.workers(), Latch::of_caller(None), f, |calls| {
        for (index, call) in calls.into_iter().enumerate() {
            // SAFETY: it owns what it borrows, as far as we are concerned.
            drop(unsafe { guest::spawn_on_worker(pool, index, call) });
        }
    })
}

pub(crate) fn spawn_broadcast<F>(pool: Handle, f: F)
where
    F: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    guest::expect_jobs(pool);
    let n = pool.workers();
    let f = Arc::new(f);
    for index in 0..n {
        let f = f.clone();
        // SAFETY: the closure borrows nothing.
        let task = unsafe {
            guest::spawn_on_worker(pool, index, move || {
                detached(|| f(BroadcastContext::new(index, n)));
            })
        };
        drop(task);
    }
}

/// A closure of a scope that runs first come, first served: its stand-in.
pub(crate) fn put_scoped<'scope>(fifo: &Arc<Fifo>, call: Box<dyn FnOnce() + Send + 'scope>) -> StandIn {
    // SAFETY: each closure that is put in has a stand-in, which the scope waits for, and each
    // stand-in takes one out: when all of the scope's have run, all closures have.
    fifo.put(unsafe { std::mem::transmute::<Box<dyn FnOnce() + Send + 'scope>, Box<dyn FnOnce() + Send>>(call) })
}
