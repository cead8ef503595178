//! `idle`: `n` tasks, each blocked on a receive from a channel of its own: how many bytes is one?
//!
//! `bytes_per_task` is the growth of anonymous memory and page tables from before the first task to
//! when all are blocked, divided by `n`; it includes the task's channel and the sender that the
//! root keeps. Then each is sent its ordinal, and the sum of what they received is the answer. The
//! time is from the first spawn to the last block. Always once, in a fresh process.
//!
//! Channels have one slot, except that `tokio` has its oneshot channels; `tokio-mpsc` is the
//! like-for-like comparison.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::memory::Memory;
use crate::processor;
use crate::record::{Failure, Measured, Outcome};

#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;
#[cfg(feature = "peers")]
mod tokio_mpsc;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "idle",
    about: "n tasks blocked on receive: the memory of each",
    unit: Unit::Per("task"),
    size: Size::n(50_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "closure",
            about: "tasks are closures that block",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)),
                Entry::new("std", Some(std_threads::run)).unbound(),
            ],
        },
        Form {
            name: "future",
            about: "tasks are futures",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("tokio-mpsc", peer!(tokio_mpsc::run)),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
    ],
};

/// How long after the last task has said that it will block it surely has.
const SETTLE: Duration = Duration::from_millis(20);

/// What the tasks tell the root.
#[derive(Clone, Debug, Default)]
struct Tally {
    counts: Arc<Counts>,
}

/// The counters. All accesses are Relaxed: they are only compared with what they must end as.
#[derive(Debug, Default)]
struct Counts {
    blocked: AtomicU64,
    got: AtomicU64,
    sum: AtomicU64,
}

impl Tally {
    /// Called by a task just before it blocks.
    fn block(&self) {
        self.counts.blocked.fetch_add(1, Ordering::Relaxed);
    }

    /// Called by a task with what it received.
    fn got(&self, i: u64) {
        self.counts.sum.fetch_add(i, Ordering::Relaxed);
        self.counts.got.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether fewer than `n` tasks are blocked.
    fn starting(&self, n: u64) -> bool {
        self.counts.blocked.load(Ordering::Relaxed) < n
    }

    /// Whether fewer than `n` tasks have received.
    fn ending(&self, n: u64) -> bool {
        self.counts.got.load(Ordering::Relaxed) < n
    }
}

/// What the root finds out.
#[derive(Debug)]
struct Census {
    begin: Instant,
    before: Option<Memory>,
    processors: Option<Duration>,
    found: Option<Measured>,
}

impl Census {
    /// Before the first task.
    fn begin() -> Self {
        Census { before: Memory::now(), processors: processor::time(), begin: Instant::now(), found: None }
    }

    /// When all `n` tasks are blocked.
    fn all_blocked(&mut self, n: u64) {
        let (time, used) = (self.begin.elapsed(), processor::since(self.processors));
        std::thread::sleep(SETTLE);
        let bytes_per_task = Memory::growth(self.before, n);
        self.found = Some(Measured { bytes_per_task, ..Measured::once(n, time) }.with_processors(used, time));
    }

    /// When all `n` tasks have received: their sum is checked.
    fn end(self, tally: &Tally, n: u64) -> Outcome {
        Failure::check(tally.counts.sum.load(Ordering::Relaxed), n * (n - 1) / 2)?;
        self.found.ok_or_else(|| Failure::Wrong("nobody counted the tasks".into()))
    }
}
