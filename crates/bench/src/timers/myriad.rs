//! `timers` by tasks of Myriad.

use std::future::Future;
use std::time::Duration;

use super::{Part, Timers, lateness, pending};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

struct System;

impl Timers for System {
    type Sleep = myriad::time::Sleep;
    fn after(duration: Duration) -> Self::Sleep {
        myriad::time::sleep_async(duration)
    }
    fn spawn(task: impl Future<Output = ()> + Send + 'static) {
        drop(myriad::spawn_async(task));
    }
}

pub(super) fn insert(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| host::myriad::run_future(&rt, pending::<System>(n, Part::Insert)))
}

pub(super) fn cancel(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| host::myriad::run_future(&rt, pending::<System>(n, Part::Cancel)))
}

pub(super) fn shuffled(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| host::myriad::run_future(&rt, pending::<System>(n, Part::Shuffled)))
}

pub(super) fn fire(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure_lateness(p, |n| host::myriad::run_future(&rt, lateness::<System>(n)))
}
