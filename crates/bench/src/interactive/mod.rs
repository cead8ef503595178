//! `interactive`: how long a short task waits before it begins, while all workers are busy with
//! others.
//!
//! The others are a [`Load`]. A thread from outside asks `n` times, one millisecond apart, for a
//! short task. What is told is not a mean: the time is the *99th percentile* of the time from the
//! request to the task's beginning. Median and worst are in the note, and how many background tasks
//! a second the workers ended meanwhile: a system that begins short tasks soon because its workers
//! idle shows fewer. Every request's answer and every background task's result is checked.
//!
//! In the form `pool` short tasks have a pool of one worker (or what a system has in its place: a
//! second runtime, a thread for each); in `shared` they go to the busy workers, with priority where
//! a system has that. (Not in rayon: while the tasks of a pool spawn each other, it never comes to
//! one from outside, and a request waits for ever.) The machine has no processor to spare in
//! either.

use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::load::Load;
use crate::params::Params;
use crate::record::{Failure, Measured, Outcome};

#[cfg(feature = "ours")]
pub(crate) mod myriad;
#[cfg(feature = "peers")]
mod rayon;
pub(crate) mod std_threads;
#[cfg(feature = "peers")]
pub(crate) mod tokio;

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

/// Between two requests.
const PAUSE: Duration = Duration::from_millis(1);

/// What a short task does: says when it began, and answers.
fn answer(i: u64) -> (Instant, u64) {
    (Instant::now(), i * i)
}

/// Asks `n` times, while the load runs, and stops it.
fn measure(p: &Params, load: &Load, mut ask: impl FnMut(u64) -> (Instant, u64)) -> Outcome {
    load.beside(|| {
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
        Failure::check(sum, (0..p.n).map(|i| i * i).sum())?;
        waits.sort_unstable();
        let (p50, p99) = (waits[waits.len() / 2], waits[(waits.len() * 99).div_ceil(100) - 1]);
        let worst = waits[waits.len() - 1];
        let note = Some(format!("median {p50:.1?}, worst {worst:.1?}"));
        Ok(Measured { note, ..Measured::once(1, p99) })
    })
}
