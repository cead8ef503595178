//! For those who split work lazily: does anybody want some, and here it is.
//!
//! A loop over a range need not be cut into tasks beforehand. It runs a few iterations, asks
//! [`idle_workers`], and only where somebody has nothing to do (and this worker nothing to give)
//! forks what is left in two halves, with [`join`](crate::join), and [`publish`]s the far one at
//! once. (Lazy binary splitting: Tzannes, Caragea, Barua, Vishkin, PPoPP 2010; there the deque
//! being empty is the sign.) All of this is safe code, and hints: whatever is answered, no task is
//! lost.
//!
//! The default paths of spawn and join know nothing of this. Asking is one load of a word that the
//! owner reads at each push anyway; only a thief that has found nothing, or a sleeper, writes it.
//!
//! Under a policy with queues of its own nobody steals, and that word is set for good: there the
//! sign is that the queues are empty.

use crate::runtime::global;
use crate::sched::worker::{self, Worker};
use std::panic::Location;

/// Who waits for work that the caller could split off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleWorkers {
    /// Nobody, or there are tasks to take already.
    None,
    /// A worker that is awake: it costs some hundred nanoseconds to give it something.
    Awake,
    /// Only one that sleeps: waking it costs microseconds, and it takes more of them to come.
    Asleep,
}

/// Does anybody want work, while this worker has none that has not begun? If it has, and it was not
/// to be seen yet, it is now.
///
/// On a foreign thread: nobody.
///
/// # Blocking
/// Never blocks.
#[inline(always)]
pub fn idle_workers() -> IdleWorkers {
    match worker::current() {
        Some(w) if w.shared.deque.is_requested() => find_idle(&w),
        _ => IdleWorkers::None,
    }
}

#[cold]
#[inline(never)]
fn find_idle(w: &Worker) -> IdleWorkers {
    let workers = &w.pool.workers;
    if workers.queues().is_some() {
        if workers.all().len() == 1 || workers.has_injected() {
            return IdleWorkers::None;
        }
    } else if w.shared.deque.looks_busy() {
        // SAFETY: `w` is the calling worker, the owner of the deque.
        workers.serve_requests_fully(&w.shared, w.deque());
        return IdleWorkers::None;
    }
    if workers.has_sleepers() { IdleWorkers::Asleep } else { IdleWorkers::Awake }
}

/// Lets others see the newest task of this worker at once, even if it is the only one: for a first
/// closure of [`join`](crate::join) that goes on with something long.
///
/// # Blocking
/// Never blocks.
#[inline]
pub fn publish() {
    if let Some(w) = worker::current()
        && w.pool.workers.queues().is_none()
    {
        // (If a thief has the lock, it is at work here, and may force a steal later.)
        w.deque().publish_lone();
    }
}

/// Sees to it that others can take the oldest task of this worker at once, asked or not: for who
/// has just pushed one, and cuts its work without a look at [`idle_workers`], so that what it does
/// next may be the long leaf of a tree.
///
/// Without it a lone task waits for the next push, or for a thief that takes it by force, tens of
/// microseconds later. It costs two loads as long as one is to be taken already. In a recursion
/// that is most of the time: another one is published where the last was stolen, or where all that
/// was older has been run, that is, once for each level.
///
/// # Blocking
/// Never blocks.
#[inline(always)]
pub fn publish_one() {
    if let Some(w) = worker::current()
        && !w.shared.deque.has_public()
    {
        offer_one(&w);
    }
}

#[cold]
#[inline(never)]
fn offer_one(w: &Worker) {
    let workers = &w.pool.workers;
    if workers.all().len() > 1 && workers.queues().is_none() {
        // (If a thief has the lock, it is at work here.)
        w.deque().publish_lone();
    }
}

/// How many workers the caller's pool has; 1 on a foreign thread.
pub fn workers() -> usize {
    worker::current().map_or(1, |w| w.pool.regular_workers().len())
}

/// Runs `f` on a worker: right here, if the calling thread is one, else as a task that is waited
/// for.
///
/// # Blocking
/// Until `f` has ended.
///
/// # Panics
/// If `f` does.
#[track_caller]
pub fn on_worker<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    match worker::current() {
        Some(_) => f(),
        None => crate::api::run::run_on(global::home(), Location::caller(), false, f),
    }
}
