//! `echo-idle`: `n` connections of an echo server, each of which has had one answer and is silent
//! after that: how many bytes is one, and does the server rest?
//!
//! `bytes_per_task` is the growth of anonymous memory and page tables from before the first
//! connection to when all are silent, divided by `n`: what the kernel has of a socket is not in it.
//! The time is from the first to the last answer, one after the other. During two seconds of
//! silence it is counted how often the threads of the server ran: of Myriad it is checked that none
//! did. At the end each connection has to answer once more.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};

#[cfg(feature = "ours")]
use super::myriad;
use super::std_threads;
#[cfg(feature = "peers")]
use super::{go, may, smol, tokio};

/// Its name.
pub(super) const NAME: &str = "echo-idle";

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: NAME,
    about: "n silent connections of an echo server: the memory of each, and whether it rests",
    unit: Unit::Per("connection"),
    size: Size::n(10_000),
    full: Size::n(19_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "closure",
            about: "a task that blocks for each connection",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::closure)),
                Entry::new("go", peer!(go::closure)).outside(),
                Entry::new("std", Some(std_threads::closure)).unbound(),
            ],
        },
        Form {
            name: "future",
            about: "a future for each connection",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::future)),
                Entry::new("smol", peer!(smol::future)),
            ],
        },
    ],
};
