//! What runs on the workers of a server beside it: tasks that compute half of the time, or tasks
//! that yield for ever. They run to the end of the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use super::Server;
use crate::load::compute;
use crate::params::Params;
use crate::record::Failure;

/// How long one computes…
const BURST: Duration = Duration::from_millis(20);
/// …and waits after that.
pub(crate) const REST: Duration = Duration::from_millis(20);
/// How many tasks yield.
const YIELDING: usize = 100;

/// What they have done, together.
#[derive(Debug)]
pub(crate) struct Neighbours {
    right: u64,
    done: AtomicU64,
    wrong: AtomicU64,
}

impl Neighbours {
    /// Starts those that the form names. `computing` starts a task that waits for the time that it
    /// is given, and then computes a [`burst`](Self::burst) and waits for a [`REST`], for ever: one
    /// for each worker, whose bursts do not begin together. `yielding` starts a task that takes
    /// [`turns`](Self::turn) for ever.
    pub(crate) fn start(
        p: &Params,
        computing: impl Fn(Arc<Neighbours>, Duration),
        yielding: impl Fn(Arc<Neighbours>),
    ) -> Server {
        let neighbours = Arc::new(Neighbours { right: compute(), done: AtomicU64::new(0), wrong: AtomicU64::new(0) });
        if p.form.starts_with("compute") {
            let workers = p.workers as u32;
            (0..workers).for_each(|i| computing(neighbours.clone(), (BURST + REST) * i / workers));
        } else {
            (0..YIELDING).for_each(|_| yielding(neighbours.clone()));
        }
        Server::Beside(neighbours)
    }

    /// Computes, and checks what came out.
    pub(crate) fn burst(&self) {
        let begin = Instant::now();
        while begin.elapsed() < BURST {
            if compute() != self.right {
                self.wrong.fetch_add(1, Relaxed);
            }
        }
        self.done.fetch_add(1, Relaxed);
    }

    /// A turn of a task that yields.
    pub(crate) fn turn(&self) {
        self.done.fetch_add(1, Relaxed);
    }

    /// How many bursts or turns there were.
    pub(super) fn done(&self) -> Result<u64, Failure> {
        Failure::check(self.wrong.load(Relaxed), 0)?;
        Ok(self.done.load(Relaxed))
    }
}
