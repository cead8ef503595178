//! `cancel`: `n` tasks, each blocked on a receive from a channel of its own, are cancelled, all at
//! a time.
//!
//! The time is from the cancellation until all have ended, with their destructors: closures of a
//! scope, until the scope has ended; futures of a set, until their results were taken. (Our
//! closures are spawned by many tasks, so that they stand on all workers.) Each task has a value
//! whose destructor notes that it ran: the answer is how many have, and that no task went on.
//! `bytes_per_task` is by how much memory has grown at the peak, for each. Always once, in a fresh
//! process.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "cancel",
    about: "n tasks blocked on receive are cancelled: until all have ended",
    unit: Unit::Per("task"),
    size: Size::n(20_000),
    full: Size::n(100_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "closure",
            about: "tasks are closures that block, and unwind",
            entries: &[Entry::new("myriad", ours!(myriad::closure)).waits(), Entry::new("may", peer!(may::run))],
        },
        Form {
            name: "future",
            about: "tasks are futures, and are dropped",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
    ],
};

/// How long after the last task has said that it will block it surely has.
const SETTLE: Duration = Duration::from_millis(20);

/// What the tasks tell the root. Each has a slot of its own for its destructor, and a reference
/// that is not counted: a counter of all would be the better part of what a short task costs. All
/// accesses are Relaxed: ordered by what ends the tasks, or only compared with what they must end
/// as.
#[derive(Debug)]
struct Tally {
    blocked: AtomicU64,
    went_on: AtomicU64,
    dropped: Box<[AtomicBool]>,
}

/// What each task has on its stack, or in its future.
#[derive(Debug)]
struct Guard(&'static Tally, u64);

impl Tally {
    /// Of `n` tasks; for the one run of the process.
    fn new(n: u64) -> &'static Tally {
        let dropped = (0..n).map(|_| AtomicBool::new(false)).collect();
        Box::leak(Box::new(Tally { blocked: AtomicU64::new(0), went_on: AtomicU64::new(0), dropped }))
    }

    /// Called by task `i` just before it blocks.
    fn block(&'static self, i: u64) -> Guard {
        self.blocked.fetch_add(1, Ordering::Relaxed);
        Guard(self, i)
    }

    /// Whether some are not blocked yet.
    fn starting(&self) -> bool {
        self.blocked.load(Ordering::Relaxed) < self.dropped.len() as u64
    }
}

impl Guard {
    /// Called by a task that was not cancelled.
    fn went_on(&self) {
        self.0.went_on.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dropped[self.1 as usize].store(true, Ordering::Relaxed);
    }
}

/// What the root finds out.
#[derive(Debug)]
struct Measurement {
    before: Option<Memory>,
    tally: &'static Tally,
    processors: Option<Duration>,
    begin: Option<Instant>,
}

impl Measurement {
    /// Before the first task.
    fn begin(tally: &'static Tally) -> Self {
        Measurement { before: Memory::now(), tally, processors: None, begin: None }
    }

    /// When all tasks are blocked, and just before they are cancelled.
    fn cancel(&mut self) {
        std::thread::sleep(SETTLE);
        self.processors = processor::time();
        self.begin = Some(Instant::now());
    }

    /// When all `n` tasks have ended, at this moment; `cancelled` of them say that they were
    /// cancelled.
    fn end(self, end: Instant, n: u64, cancelled: u64) -> Outcome {
        let used = processor::since(self.processors);
        let dropped = self.tally.dropped.iter().filter(|dropped| dropped.load(Ordering::Relaxed)).count();
        Failure::check(self.tally.went_on.load(Ordering::Relaxed), 0)?;
        Failure::check(dropped as u64, n)?;
        Failure::check(cancelled, n)?;
        let begin = self.begin.ok_or_else(|| Failure::Wrong("nobody cancelled the tasks".into()))?;
        let bytes_per_task = Memory::peak_growth(self.before, n);
        Ok(Measured { bytes_per_task, ..Measured::once(n, end - begin) }.with_processors(used, end - begin))
    }
}
