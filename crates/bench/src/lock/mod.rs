//! `lock`: what a channel costs: `n` integers from one sender to one receiver.
//!
//! The receiver adds them up, which is the answer. The channel has `--buffer` slots, or none but
//! memory limits it. In the form `threads` the two are OS threads, which is where the channels of
//! crossbeam, kanal, flume and the standard library are at home; in the form `tasks` they are two
//! tasks on the workers of a pool.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod crossbeam;
#[cfg(feature = "peers")]
mod flume;
#[cfg(feature = "peers")]
mod kanal;
#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;
#[cfg(feature = "peers")]
mod tokio_kanal;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "lock",
    about: "a channel's throughput: n integers from one sender to one receiver",
    unit: Unit::Per("message"),
    size: Size { n: 100_000, m: 0, buffer: Some(1_000) },
    full: Size { n: 10_000_000, m: 0, buffer: Some(1_000) },
    takes: Takes { m: false, payload: false, buffer: true },
    check: at_least_one,
    forms: &[
        Form {
            name: "threads",
            about: "the two are OS threads",
            entries: &[
                Entry::new("myriad", ours!(myriad::threads)).unbound(),
                Entry::new("kanal", peer!(kanal::run)).unbound(),
                Entry::new("crossbeam", peer!(crossbeam::run)).unbound(),
                Entry::new("flume", peer!(flume::run)).unbound(),
                Entry::new("std", Some(std_threads::run)).unbound(),
            ],
        },
        Form {
            name: "tasks",
            about: "the two are tasks",
            entries: &[
                Entry::new("myriad", ours!(myriad::tasks)).waits(),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("tokio-kanal", peer!(tokio_kanal::run)),
                Entry::new("smol", peer!(smol::run)),
                Entry::new("may", peer!(may::run)),
            ],
        },
    ],
};

/// Measures `once`, which returns the time and the sum.
fn measure(p: &Params, mut once: impl FnMut() -> (Duration, u64)) -> Outcome {
    sample::warm(p.n, || {
        let (time, sum) = once();
        Failure::check(sum, p.n * (p.n - 1) / 2)?;
        Ok(time)
    })
}
