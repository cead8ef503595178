//! `threads`: make `n` units of execution and join each, one after another.
//!
//! Each gives its ordinal back; the answer is the sum. The peers make OS threads, with the standard
//! library and with `pthread_create`; Myriad makes tasks. This is the price of one spawn and join
//! without the batch of `overhead`.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "ours")]
mod myriad;
#[cfg(unix)]
mod pthread;
mod std_threads;

/// The program of `pthread`, where there is one.
#[cfg(unix)]
const PTHREAD: Option<crate::entry::Run> = Some(pthread::run);
/// The program of `pthread`, where there is one.
#[cfg(not(unix))]
const PTHREAD: Option<crate::entry::Run> = None;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "threads",
    about: "make and join n OS threads, or tasks, one after another",
    unit: Unit::Per("join"),
    size: Size::n(1_000),
    full: Size::n(10_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[Form {
        name: "join",
        about: "spawn one, join it, and so on",
        entries: &[
            Entry::new("myriad", ours!(myriad::run)),
            Entry::new("std", Some(std_threads::run)).unbound(),
            Entry::new("pthread", PTHREAD).unbound(),
        ],
    }],
};

/// Measures `once`, which returns the time and the sum.
fn measure(p: &Params, mut once: impl FnMut() -> (Duration, u64)) -> Outcome {
    sample::warm(p.n, || {
        let (time, sum) = once();
        Failure::check(sum, p.n * (p.n - 1) / 2)?;
        Ok(time)
    })
}
