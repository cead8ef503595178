//! `calls`: a thread that is no worker has `n` short tasks run, one after another, and waits for
//! each result. An operation is such a call, there and back.
//!
//! In the form `idle` nothing else runs; the next call follows at once, so workers may still be
//! looking for work. In `busy` all workers compute (the tasks of a [`Load`]), so a call waits for
//! its turn, and the note says how many of the others ended meanwhile; this is measured once. The
//! answer is the sum of the results.

use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::load::Load;
use crate::params::Params;
use crate::record::{Failure, Measured, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "calls",
    about: "n calls from a thread that is no worker: a short task, and its result",
    unit: Unit::Per("call"),
    size: Size::n(50),
    full: Size::n(1_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "idle",
            about: "nothing else runs",
            entries: &[
                Entry::new("myriad", ours!(myriad::idle)),
                Entry::new("tokio", peer!(tokio::idle)),
                Entry::new("rayon", peer!(rayon::idle)),
                Entry::new("may", peer!(may::idle)),
                Entry::new("smol", peer!(smol::idle)),
                Entry::new("std", Some(std_threads::idle)).unbound(),
            ],
        },
        Form {
            name: "busy",
            about: "all workers compute",
            entries: &[
                Entry::new("myriad", ours!(myriad::busy)),
                Entry::new("tokio", peer!(tokio::busy)),
                Entry::new("rayon", peer!(rayon::busy)),
                Entry::new("std", Some(std_threads::busy)).unbound(),
            ],
        },
    ],
};

/// What a task computes.
fn square(i: u64) -> u64 {
    i * i
}

/// The time of all calls of `call`, which has [`square`] called by a task.
fn once(p: &Params, call: impl FnMut(u64) -> u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let sum: u64 = (0..p.n).map(call).sum();
    let time = begin.elapsed();
    Failure::check(sum, (0..p.n).map(square).sum())?;
    Ok(time)
}

/// Measures `call` while nothing else runs.
fn measure(p: &Params, mut call: impl FnMut(u64) -> u64) -> Outcome {
    sample::warm(p.n, || once(p, &mut call))
}

/// Measures `call` beside the load, which has warmed the pool.
fn measure_beside(p: &Params, load: &Load, call: impl FnMut(u64) -> u64) -> Outcome {
    load.beside(|| Ok(Measured::once(p.n, once(p, call)?)))
}
