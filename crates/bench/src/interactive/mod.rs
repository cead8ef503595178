//! `interactive`: how long a short task waits before it begins, while all workers are busy with
//! others.
//!
//! Twice as many background tasks as workers compute, some 0.2 ms each, and each spawns the next
//! one when it ends: so there is always one that has not begun. A thread from outside asks `n`
//! times, one millisecond apart, for a short task. What is told is not a mean: the time is the
//! *99th percentile* of the time from the request to the task's beginning; median and worst are in
//! the note. Every request's answer and every background task's result is checked.
//!
//! In the form `pool` short tasks have a pool of one worker (or what a system has in its place: a
//! second runtime, a thread for each); in `shared` they go to the busy workers, with priority where
//! a system has that. (Not in rayon: while the tasks of a pool spawn each other, it never comes to
//! one from outside, and a request waits for ever.) The machine has no processor to spare in
//! either.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Measured, Outcome};

#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "interactive",
    about: "n short tasks while all workers compute: the 99th percentile of the wait for the beginning",
    unit: Unit::Per("p99"),
    size: Size::n(200),
    full: Size::n(5_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "pool",
            about: "short tasks have a worker of their own",
            entries: &[
                Entry::new("myriad", ours!(myriad::pool)),
                Entry::new("tokio", peer!(tokio::pool)),
                Entry::new("rayon", peer!(rayon::pool)).extra(),
                Entry::new("std", Some(std_threads::pool)).extra(),
            ],
        },
        Form {
            name: "shared",
            about: "short tasks go to the busy workers, with priority if there is such a thing",
            entries: &[Entry::new("myriad", ours!(myriad::shared)), Entry::new("tokio", peer!(tokio::shared))],
        },
    ],
};

/// Steps of a background task.
const STEPS: u64 = 150_000;
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(1);

/// What a background task computes.
fn compute() -> u64 {
    // Not known to the compiler.
    (0..std::hint::black_box(STEPS)).fold(1, |x, i| (x ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
}

/// The background's tasks, as a whole.
struct Load {
    right: u64,
    stop: AtomicBool,
    done: AtomicU64,
    wrong: AtomicU64,
}

impl Load {
    fn new() -> Arc<Load> {
        Arc::new(Load {
            right: compute(),
            stop: AtomicBool::new(false),
            done: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
        })
    }

    /// How many there are at a time.
    fn tasks(p: &Params) -> usize {
        2 * p.workers
    }

    /// Is one background task. True: another one is to follow.
    fn one(&self) -> bool {
        if compute() != self.right {
            self.wrong.fetch_add(1, Relaxed);
        }
        self.done.fetch_add(1, Relaxed);
        !self.stop.load(Relaxed)
    }
}

/// What a short task does: says when it began, and answers.
fn answer(i: u64) -> (Instant, u64) {
    (Instant::now(), i * i)
}

/// Asks `n` times, while the load runs, and stops it.
fn measure(p: &Params, load: &Load, mut ask: impl FnMut(u64) -> (Instant, u64)) -> Outcome {
    // All workers are busy.
    while load.done.load(Relaxed) < 10 * Load::tasks(p) as u64 {
        std::thread::sleep(PAUSE);
    }
    let before = load.done.load(Relaxed);
    let mut sum = 0;
    let mut waits: Vec<Duration> = (0..p.n)
        .map(|i| {
            std::thread::sleep(PAUSE);
            let asked = Instant::now();
            let (begun, square) = ask(i);
            sum += square;
            begun - asked
        })
        .collect();
    let done = load.done.load(Relaxed) - before;
    load.stop.store(true, Relaxed);
    Failure::check(sum, (0..p.n).map(|i| i * i).sum())?;
    Failure::check(load.wrong.load(Relaxed), 0)?;
    if done == 0 {
        return Err(Failure::Wrong("no background task ran: the workers were not busy".into()));
    }
    waits.sort_unstable();
    let (p50, p99) = (waits[waits.len() / 2], waits[(waits.len() * 99).div_ceil(100) - 1]);
    let worst = waits[waits.len() - 1];
    let note = format!("median {p50:.1?}, worst {worst:.1?}, {done} background tasks meanwhile");
    Ok(Measured {
        ops: 1,
        repeats: 1,
        quartiles: None,
        time: p99,
        bytes_per_task: None,
        most_alive: None,
        note: Some(note),
    })
}
