//! What the client does, and when.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;

use super::Protocol;
use super::client::{BEGINS, Result};
use super::{closed, open, paused, silent};

/// What the client does, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Traffic {
    /// Over each of `m` connections the next request is sent when the last one is answered: `n` in
    /// all.
    Closed { n: u64, m: u64 },
    /// So many requests are due in each second, over `m` connections in turn, whatever the server
    /// does.
    Open { per_second: u64, m: u64 },
    /// Over one connection, a pause after each of `n` answers.
    Paused { n: u64 },
    /// Each of `m` connections has one answer, and is silent for a while.
    Silent { m: u64 },
}

impl Traffic {
    pub(crate) fn connections(self) -> u64 {
        match self {
            Traffic::Closed { m, .. } | Traffic::Open { m, .. } | Traffic::Silent { m } => m,
            Traffic::Paused { .. } => 1,
        }
    }
}

/// What a loop of the client has of its surroundings.
pub(super) struct Place {
    pub(super) address: SocketAddr,
    /// It has a processor that the server has not.
    pub(super) apart: bool,
    /// From the parent.
    pub(super) go: File,
    /// To the parent.
    pub(super) said: File,
}

impl Place {
    /// From here on it counts.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.said.write_all(&[BEGINS])
    }
}

/// The client's work.
pub(super) fn run(traffic: Traffic, protocol: impl Protocol, place: &mut Place) -> io::Result<Result> {
    match traffic {
        Traffic::Closed { n, m } => closed::run(n, m, protocol, place),
        Traffic::Open { per_second, m } => open::run(per_second, m, protocol, place),
        Traffic::Paused { n } => paused::run(n, protocol, place),
        Traffic::Silent { m } => silent::run(m, protocol, place),
    }
}
