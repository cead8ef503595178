//! `relay`: `m` relays in a chain; `n` messages are sent into the head without waiting and taken at
//! the end.
//!
//! A relay receives a message and sends it on until its channel closes. A feeder task sends the
//! messages, the root task takes `n` of them and adds up their integers, which is the answer. An
//! operation is a hop: there are `m × n`. The time includes making the relays.
//!
//! Parameters: the slots of each channel (`--buffer`: unbounded, 1000, 0, …), and what a message is
//! (`--payload`): an integer; a list of 20 that is moved; a list of 20 that is shared.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

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
mod tokio_flume;
#[cfg(feature = "peers")]
mod tokio_kanal;

/// Up to this many hops, the run is repeated in a warm process.
const WARM: u64 = 1_000_000;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "relay",
    about: "n messages through a chain of m relays (an operation is a hop)",
    unit: Unit::Per("hop"),
    size: Size { n: 1_000, m: 1_000, buffer: None },
    full: Size { n: 10_000, m: 10_000, buffer: None },
    takes: Takes { m: true, payload: true, buffer: true },
    check,
    forms: &[
        Form {
            name: "closure",
            about: "relays are closures that block",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)),
                Entry::new("std", Some(std_threads::run)).unbound().extra(),
            ],
        },
        Form {
            name: "placed-closure",
            about: "the same, in a block for each worker",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)).extra(),
            ],
        },
        Form {
            name: "future",
            about: "relays are futures",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("tokio-kanal", peer!(tokio_kanal::run)),
                Entry::new("tokio-flume", peer!(tokio_flume::run)),
                Entry::new("tokio-current", peer!(tokio::run)).single().extra(),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
    ],
};

fn check(p: &Params) -> Result<(), String> {
    if p.n == 0 || p.m == 0 { Err("relay: n and m must be at least 1".into()) } else { Ok(()) }
}

/// Measures `once`, which returns the time and has checked the answer.
fn measure(p: &Params, once: impl FnMut() -> Result<Duration, Failure>) -> Outcome {
    let hops = p.m * p.n;
    if hops <= WARM { sample::warm(hops, once) } else { sample::fresh(hops, p.m, once) }
}
