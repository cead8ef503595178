//! `mutex`: what a lock costs: a counter behind it is increased `n` times, one at a time.
//!
//! The answer is the counter's last value. In the form `uncontended` one task does it, in
//! `contended` two tasks that are on two workers (if there are two) do a half each, without any
//! work between two sections: the hardest case, in which the lock's word is all that counts. In
//! `threads` it is one OS thread that is no worker, and in `contended-threads` two. Where a
//! system's locks are made for threads (`std`, `parking_lot`), its tasks are threads.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod parking_lot;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "mutex",
    about: "a lock: a counter behind it is increased n times",
    unit: Unit::Per("section"),
    size: Size::n(200_000),
    full: Size::n(10_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "uncontended",
            about: "by one task",
            entries: &[
                Entry::new("myriad", ours!(myriad::uncontended)),
                Entry::new("tokio", peer!(tokio::uncontended)),
                Entry::new("may", peer!(may::uncontended)),
            ],
        },
        Form {
            name: "contended",
            about: "by two tasks at a time",
            entries: &[
                Entry::new("myriad", ours!(myriad::contended)).waits(),
                Entry::new("tokio", peer!(tokio::contended)),
                Entry::new("may", peer!(may::contended)),
                Entry::new("parking_lot", peer!(parking_lot::contended)).unbound(),
                Entry::new("std", Some(std_threads::contended)).unbound(),
            ],
        },
        Form {
            name: "threads",
            about: "by one OS thread",
            entries: &[
                Entry::new("myriad", ours!(myriad::thread)).unbound(),
                Entry::new("parking_lot", peer!(parking_lot::uncontended)).unbound(),
                Entry::new("std", Some(std_threads::uncontended)).unbound(),
            ],
        },
        Form {
            name: "contended-threads",
            about: "by two OS threads at a time",
            entries: &[
                Entry::new("myriad", ours!(myriad::two_threads)).unbound(),
                Entry::new("parking_lot", peer!(parking_lot::contended)).unbound(),
                Entry::new("std", Some(std_threads::contended)).unbound(),
            ],
        },
    ],
};

/// Measures `once`, which returns the time and the counter.
fn measure(p: &Params, mut once: impl FnMut() -> Result<(Duration, u64), Failure>) -> Outcome {
    sample::warm(p.n, || {
        let (time, count) = once()?;
        Failure::check(count, p.n)?;
        Ok(time)
    })
}

/// The two halves of `n`.
fn halves(n: u64) -> [u64; 2] {
    [n / 2, n - n / 2]
}
