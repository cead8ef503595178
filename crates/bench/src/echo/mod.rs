//! `echo`: a server over TCP, and a client in another process that has `m` connections and sends 32
//! bytes over each, waits for them to come back, and sends the next: `n` requests in all, after a
//! tenth of them that do not count. An operation is a request.
//!
//! The client ([`served`]) is one thread of its own process, and as busy as the server. So the rate
//! says little where the two share processors; what the *server's* processor time of a request was
//! is told beside it. Where there is a processor more than workers, the client has the last one to
//! itself, and the server those that it needs. Each byte of an answer is checked by the client.
//!
//! `epoll` is no competitor: a loop around `epoll_wait` and nothing else, which is as fast as the
//! kernel allows.
//!
//! [`rate`], [`busy`] and [`idle`] are workloads with the same servers, and other clients.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::served::{self, Neighbours, Protocol, Server, Traffic};

pub(crate) mod busy;
mod epoll;
#[cfg(feature = "peers")]
mod go;
pub(crate) mod idle;
#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
pub(crate) mod rate;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "echo",
    about: "n requests of 32 bytes over m connections to an echo server; the client is another process",
    unit: Unit::Per("request"),
    size: Size { n: 30_000, m: 64, buffer: None },
    full: Size { n: 1_000_000, m: 1_000, buffer: None },
    takes: Takes { m: true, ..Takes::N },
    check: served::check,
    forms: &FORMS,
};

static FORMS: [Form; 2] = [
    Form {
        name: "closure",
        about: "a task that blocks for each connection",
        entries: &[
            Entry::new("myriad", ours!(myriad::closure)).waits(),
            Entry::new("may", peer!(may::closure)),
            Entry::new("go", peer!(go::closure)).outside(),
            Entry::new("std", Some(std_threads::closure)).unbound(),
            Entry::new("epoll", Some(epoll::bare)).single().reference(),
        ],
    },
    Form {
        name: "future",
        about: "a future for each connection",
        entries: &[
            Entry::new("myriad", ours!(myriad::future)),
            Entry::new("tokio", peer!(tokio::future)),
            Entry::new("tokio-current", peer!(tokio::future)).single(),
            Entry::new("smol", peer!(smol::future)),
            Entry::new("epoll", Some(epoll::bare)).single().reference(),
        ],
    },
];

/// The bytes of a request.
const REQUEST: usize = 32;

/// Measures the server that `start` starts at a listener, as the workload has it: see
/// [`served::measure`].
fn measure(p: &Params, start: impl FnOnce(TcpListener) -> Result<Server, Failure>) -> Outcome {
    served::measure(p, Echo, traffic(p), start)
}

fn traffic(p: &Params) -> Traffic {
    match p.workload.as_str() {
        rate::NAME => Traffic::Open { per_second: p.n, m: p.m },
        busy::NAME => Traffic::Paused { n: p.n },
        idle::NAME => Traffic::Silent { m: p.n },
        _ => Traffic::Closed { n: p.n, m: p.m },
    }
}

/// How many connections the server has at a time.
fn connections(p: &Params) -> u64 {
    traffic(p).connections()
}

/// Starts what runs beside the server: in [`busy`] only. See [`Neighbours::start`].
fn beside(p: &Params, computing: impl Fn(Arc<Neighbours>, Duration), yielding: impl Fn(Arc<Neighbours>)) -> Server {
    if p.workload == busy::NAME { Neighbours::start(p, computing, yielding) } else { Server::Here }
}

/// The request, and the answer, are the number of the request, over and over.
#[derive(Clone, Copy)]
struct Echo;

impl Protocol for Echo {
    fn request(self, number: u64, to: &mut Vec<u8>) {
        to.extend(number.to_le_bytes().iter().cycle().take(REQUEST));
    }

    fn is_answered(self, request: &[u8], got: &[u8]) -> Result<bool, String> {
        match got.len() {
            ..REQUEST => Ok(false),
            _ if got == request => Ok(true),
            _ => Err("an answer is another one's".into()),
        }
    }
}
