//! TimeLimits in time of a node, and attempts.

use super::output::Origin;
use crate::graph::Cause;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::{now_of, unwind, user_code};
use myriad_core::time::{self, Instant};
use myriad_core::{Handle as Pool, JoinHandle, cancel};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct TimeLimits {
    /// From the begin of the body.
    pub(super) time: Option<Duration>,
    /// From the spawn.
    pub(super) in_all: Option<Duration>,
}

impl TimeLimits {
    /// The limit in all begins now.
    pub(super) fn expiry(&self, pool: Pool) -> Expiry {
        let limit = self.in_all.map(|limit| (limit, now_of(pool) + limit));
        Expiry { limit, timer: limit.map(|_| Arc::default()) }
    }
}

/// When a node is too late, begun or not.
#[derive(Clone)]
pub(super) struct Expiry {
    limit: Option<(Duration, Instant)>,
    timer: Option<Arc<Mutex<Timer>>>,
}

/// The task that ends a node which has not begun in time. Cancelled when the node begins, or is
/// dropped.
#[derive(Default)]
struct Timer {
    has_begun: bool,
    task: Option<JoinHandle<()>>,
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.task.take().into_iter().for_each(|task| task.cancel());
    }
}

impl Expiry {
    /// Ends this node when it is too late, if it has not begun.
    pub(super) fn watch<T: Send + 'static>(self, pool: Pool, node: &Arc<dyn Origin<T>>) {
        let (Some((limit, deadline)), Some(timer)) = (self.limit, self.timer) else { return };
        let node = Arc::downgrade(node);
        let task = pool.spawn_async(async move {
            time::sleep_until_async(deadline).await;
            if let Some(node) = node.upgrade() {
                node.end_unbegun(Cause::TimedOut(limit));
            }
        });
        let mut timer = timer.lock();
        if timer.has_begun {
            task.cancel();
        } else {
            timer.task = Some(task);
        }
    }

    /// The body begins.
    pub(super) fn begin(&self) {
        let task = self.timer.as_ref().and_then(|timer| {
            let mut timer = timer.lock();
            timer.has_begun = true;
            timer.task.take()
        });
        task.into_iter().for_each(|task| task.cancel());
    }

    /// Calls what is to be done within the limit in all.
    pub(super) fn in_all<T>(&self, f: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        match self.limit {
            None => f(),
            Some((limit, deadline)) => time::deadline(deadline, f).unwrap_or(Err(Cause::TimedOut(limit))),
        }
    }
}

/// Calls the body up to so many times more, each within this limit, until it succeeds.
pub(super) fn attempts<T>(
    mut retries: u32,
    time: Option<Duration>,
    mut f: impl FnMut() -> Result<T, Cause>,
) -> Result<T, Cause> {
    loop {
        // A body that fails need not have waited.
        cancel::check();
        let result = user_code::body(|| within(time, &mut f)).unwrap_or_else(|payload| {
            match unwind::is_cancellation(&payload) {
                // The node's, or the limit's in all: it goes on to there.
                true => unwind::resume(payload),
                false => Err(Cause::panicked(payload)),
            }
        });
        if retries == 0 || result.is_ok() {
            return result;
        }
        retries -= 1;
        // A cause may have a destructor of the user's.
        unwind::drop_quietly(result);
    }
}

/// Calls the body within this limit.
pub(super) fn within<T>(limit: Option<Duration>, f: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
    match limit {
        None => f(),
        Some(limit) => time::timeout(limit, f).unwrap_or(Err(Cause::TimedOut(limit))),
    }
}
