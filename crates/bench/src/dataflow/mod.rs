//! `dataflow`: about `n` nodes, each spawned with the handles of those whose values it takes.
//!
//! Forms: `random`, `diamond`, `chain` and `cholesky`, as in `graph`; each run spawns all nodes
//! anew, and ends when the value of the last one is there. `stream`: `n` numbers go through three
//! tasks with channels of 64 slots between them. An operation is a node, or a number.
//!
//! `tokio` is what one writes by hand: a task for each node, which awaits the shared handles of
//! others; tasks and channels for the stream. `taskflow` is its dependent tasks, outside of this
//! process; values are not theirs: bodies read and write them in an array. `serial` computes the
//! values in a loop.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::graph::Work;
#[cfg(feature = "peers")]
use crate::graph::outside;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{processor, sample};

#[cfg(feature = "ours")]
mod myriad;
mod serial;
#[cfg(feature = "peers")]
mod tokio;

/// Slots of the channels of a stream.
#[cfg(any(feature = "ours", feature = "peers"))]
const SLOTS: usize = 64;

/// The systems of each form but `stream`.
const ENTRIES: &[Entry] = &[
    Entry::new("myriad", ours!(myriad::nodes)),
    Entry::new("tokio", peer!(tokio::nodes)),
    Entry::new("taskflow", peer!(outside::dependent_tasks)).outside(),
    Entry::new("serial", Some(serial::run)).unbound().reference(),
];

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "dataflow",
    about: "about n nodes, each spawned with the handles of those whose values it takes",
    unit: Unit::Per("node"),
    size: Size::n(100_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form { name: "random", about: "each takes up to three of the thousand before it", entries: ENTRIES },
        Form { name: "diamond", about: "one, then all, then one", entries: ENTRIES },
        Form { name: "chain", about: "one after the other", entries: ENTRIES },
        Form { name: "cholesky", about: "tiles of a matrix, bodies of half a microsecond", entries: ENTRIES },
        Form {
            name: "stream",
            about: "n numbers through three tasks",
            entries: &[Entry::new("myriad", ours!(myriad::stream)).waits(), Entry::new("tokio", peer!(tokio::stream))],
        },
    ],
};

/// Measures what returns the time and the value of the last node.
fn measure(work: &Work, mut run: impl FnMut() -> Result<(Duration, u64), Failure>) -> Outcome {
    let want = work.want()?;
    sample::warm(work.shape.len() as u64, || {
        let (time, last) = run()?;
        processor::untimed(|| Failure::check(last, want))?;
        Ok(time)
    })
}

/// Measures what returns the time and the sum of a stream's numbers.
#[cfg(any(feature = "ours", feature = "peers"))]
fn measure_stream(p: &Params, mut run: impl FnMut() -> (Duration, u64)) -> Outcome {
    let want = (0..p.n).map(stages).fold(0, u64::wrapping_add);
    sample::warm(p.n, || {
        let (time, sum) = run();
        Failure::check(sum, want)?;
        Ok(time)
    })
}

/// What the first two tasks of a stream make of a number; the third adds up.
#[cfg(any(feature = "ours", feature = "peers"))]
fn stages(x: u64) -> u64 {
    second(first(x))
}

#[cfg(any(feature = "ours", feature = "peers"))]
fn first(x: u64) -> u64 {
    x.wrapping_mul(31)
}

#[cfg(any(feature = "ours", feature = "peers"))]
fn second(x: u64) -> u64 {
    x.wrapping_add(1)
}
