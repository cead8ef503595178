//! `http`: a server of HTTP/1.1 by hyper, whose answer is the path, and a client in another process
//! that has `m` connections and asks over each, waits for the answer, and asks again: `n` requests
//! in all. As `echo` but for the protocol: see [`served`].
//!
//! Go has its own `net/http` instead of hyper, which also writes the date and the body's type.
//! `epoll` is no competitor: a loop that looks for the end of a head, and answers.

use std::net::TcpListener;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::served::{self, Protocol, Server, Traffic};

mod bare;
#[cfg(feature = "peers")]
mod go;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "http",
    about: "n requests over m connections to a server of HTTP/1.1 (hyper); the client is another process",
    unit: Unit::Per("request"),
    size: Size { n: 30_000, m: 64, buffer: None },
    full: Size { n: 1_000_000, m: 1_000, buffer: None },
    takes: Takes { m: true, ..Takes::N },
    check: served::check,
    forms: &[
        Form {
            name: "closure",
            about: "a handler that may block, in a task for each request",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("go", peer!(go::closure)).outside(),
                Entry::new("epoll", Some(bare::serve)).single().reference(),
            ],
        },
        Form {
            name: "future",
            about: "a handler that is a future",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::future)),
                Entry::new("tokio-current", peer!(tokio::future)).single(),
                Entry::new("epoll", Some(bare::serve)).single().reference(),
            ],
        },
    ],
};

/// Measures the server that `start` starts at a listener: see [`served::measure`].
fn measure(p: &Params, start: impl FnOnce(TcpListener) -> Result<Server, Failure>) -> Outcome {
    served::measure(p, Http, Traffic::Closed { n: p.n, m: p.m }, start)
}

/// What a client says: the number is in the path, and has to come back as the body.
#[derive(Clone, Copy)]
struct Http;

impl Protocol for Http {
    fn request(self, number: u64, to: &mut Vec<u8>) {
        to.extend(format!("GET /{number:020} HTTP/1.1\r\nhost: localhost\r\n\r\n").into_bytes());
    }

    fn is_answered(self, request: &[u8], got: &[u8]) -> Result<bool, String> {
        const BODY: usize = 21;
        let Some(head) = got.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(false) };
        let (head, body) = got.split_at(head + 4);
        let wrong = |what: &str| Err(format!("{what}: {}", String::from_utf8_lossy(got)));
        if !head.starts_with(b"HTTP/1.1 200 OK\r\n") {
            return wrong("no right answer");
        }
        match body.len() {
            ..BODY => Ok(false),
            BODY if body == &request[4..4 + BODY] => Ok(true),
            _ => wrong("an answer is another one's"),
        }
    }
}
