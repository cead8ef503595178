//! `echo-rate`: an echo server that has time between requests. `n` requests are due in each second,
//! over `m` connections in turn, for two seconds after a warm-up. The time is the *server's
//! processor time* for a request: a server that looks for work while it has none shows more.
//!
//! The percentiles are of the time from when a request was due, not from when it was sent: what is
//! late makes others late, and they count.

use super::FORMS;
use crate::entry::{Size, Takes, Unit, Workload};

/// Its name.
pub(super) const NAME: &str = "echo-rate";

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: NAME,
    about: "n requests a second to an echo server, over m connections: its processor time for each",
    unit: Unit::Per("cpu"),
    size: Size { n: 2_000, m: 16, buffer: None },
    full: Size { n: 20_000, m: 64, buffer: None },
    takes: Takes { m: true, ..Takes::N },
    check: |p| match p.n > 0 && p.m > 0 {
        true => Ok(()),
        false => Err(format!("{NAME}: there are n requests a second and m connections, at least one of each")),
    },
    forms: &FORMS,
};
