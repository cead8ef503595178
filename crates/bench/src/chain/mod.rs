//! `chain`: `n` tasks in a chain of one-slot channels.
//!
//! One integer goes in at the head; each task receives it, adds 1 and sends it on; the answer is
//! `n`. The time is from the first spawn to the answer, so it is the price of making a task, of
//! making it wait, and of waking it once.
//!
//! Up to [`WARM`] tasks the run is repeated in a warm process, as the published figure for 1,000
//! tasks was; more tasks are run once in a fresh process, where `bytes_per_task` is the growth of
//! memory at the peak.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;
use std::time::Duration;

#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// Up to this many tasks, the run is repeated in a warm process.
const WARM: u64 = 10_000;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "chain",
    about: "n tasks in a chain of one-slot channels; each adds 1 to an integer that goes through once",
    unit: Unit::Per("task"),
    size: Size::n(100_000),
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
                Entry::new("tokio-current", peer!(tokio::run)).single(),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
    ],
};

/// Measures `once`, which returns the time and has checked the answer.
fn measure(p: &Params, once: impl FnMut() -> Result<Duration, Failure>) -> Outcome {
    if p.n <= WARM { sample::warm(p.n, once) } else { sample::fresh(p.n, p.n, once) }
}
