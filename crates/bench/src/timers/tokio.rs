//! `timers` by tasks of tokio.

use std::future::Future;
use std::time::Duration;

use super::{Part, Timers, lateness, pending};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

struct System;

impl Timers for System {
    type Sleep = tokio::time::Sleep;
    fn after(duration: Duration) -> Self::Sleep {
        tokio::time::sleep(duration)
    }
    fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        drop(tokio::spawn(task));
    }
}

pub(super) fn insert(p: &Params) -> Outcome {
    let rt = host::tokio::start_timed(p);
    super::measure(p, |n| rt.run(pending::<System>(n, Part::Insert)))
}

pub(super) fn cancel(p: &Params) -> Outcome {
    let rt = host::tokio::start_timed(p);
    super::measure(p, |n| rt.run(pending::<System>(n, Part::Cancel)))
}

pub(super) fn shuffled(p: &Params) -> Outcome {
    let rt = host::tokio::start_timed(p);
    super::measure(p, |n| rt.run(pending::<System>(n, Part::Shuffled)))
}

pub(super) fn fire(p: &Params) -> Outcome {
    let rt = host::tokio::start_timed(p);
    super::measure_lateness(p, |n| rt.run(lateness::<System>(n)))
}
