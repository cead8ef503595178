//! `echo-busy`: an echo server whose workers do something else too, and one client, which asks `n`
//! times, with a pause of 7 ms after each answer. The time is the 90th percentile of a round trip.
//!
//! In `compute-…` a task for each worker computes for 20 ms, waits for 20, and so on; what it
//! computes is checked. With two workers there is mostly one that has time. In `yield-…` 100 tasks
//! yield for ever. How often they did so, in a second, is `background_per_second`: a server that
//! answers soon because the others do not get on shows less.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};

#[cfg(feature = "ours")]
use super::myriad;
use super::std_threads;
#[cfg(feature = "peers")]
use super::{go, may, smol, tokio};

/// Its name.
pub(super) const NAME: &str = "echo-busy";

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: NAME,
    about: "n requests to an echo server whose workers compute half of the time, or whose tasks yield",
    unit: Unit::Per("p90"),
    size: Size::n(200),
    full: Size::n(2_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "compute-closure",
            about: "all are tasks that block; one for each worker computes 20 ms of 40",
            entries: &CLOSURES,
        },
        Form {
            name: "compute-future",
            about: "all are futures; one for each worker computes 20 ms of 40",
            entries: &FUTURES,
        },
        Form { name: "yield-closure", about: "all are tasks that block; 100 yield for ever", entries: &YIELDING },
        Form { name: "yield-future", about: "all are futures; 100 yield for ever", entries: &FUTURES },
    ],
};

/// (Without may: it answers nothing while 100 of its coroutines yield.)
static YIELDING: [Entry; 3] = [
    Entry::new("myriad", ours!(myriad::closure)).waits(),
    Entry::new("go", peer!(go::closure)).outside(),
    Entry::new("std", Some(std_threads::closure)).unbound(),
];

static CLOSURES: [Entry; 4] = [
    Entry::new("myriad", ours!(myriad::closure)).waits(),
    Entry::new("may", peer!(may::closure)),
    Entry::new("go", peer!(go::closure)).outside(),
    Entry::new("std", Some(std_threads::closure)).unbound(),
];

static FUTURES: [Entry; 3] = [
    Entry::new("myriad", ours!(myriad::future)),
    Entry::new("tokio", peer!(tokio::future)),
    Entry::new("smol", peer!(smol::future)),
];
