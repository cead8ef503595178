//! A server at work, measured by a client in another process: what the workloads `echo…` and `http`
//! share.
//!
//! ```text
//! traffic     what the client does, and when            client      its process, and what it says
//! closed, open, paused, silent   the client's loops     connection  one of its connections
//! silence     the server's side of `silent`             neighbours  what computes beside a server
//! bare        a server without a runtime                set, pin    epoll, processors
//! ```

use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::limits;
#[cfg(feature = "peers")]
use crate::outside::Program;
use crate::params::Params;
use crate::processor;
use crate::record::{Failure, Measured, Outcome};

mod bare;
mod client;
mod closed;
mod connection;
mod neighbours;
mod open;
mod paused;
mod pin;
mod set;
mod silence;
mod silent;
mod traffic;

pub(crate) use bare::answer_all;
use client::Client;
pub(crate) use neighbours::{Neighbours, REST};
pub(crate) use set::Set;
pub(crate) use traffic::Traffic;

/// What is asked, and what the right answer is.
pub(crate) trait Protocol: Copy {
    /// Appends the request of this number.
    fn request(self, number: u64, to: &mut Vec<u8>);

    /// Is `got` the whole answer to this request? The error: it is a wrong one.
    fn is_answered(self, request: &[u8], got: &[u8]) -> Result<bool, String>;
}

/// A server that was started.
pub(crate) enum Server {
    /// In this process, to its end.
    Here,
    /// The same, and these run beside it.
    Beside(Arc<Neighbours>),
    /// A process of its own, which ends when this is dropped.
    #[cfg(feature = "peers")]
    Outside(Program),
}

impl Server {
    /// The processor time that its process has used.
    fn processor_time(&self) -> Option<Duration> {
        match self {
            Server::Here | Server::Beside(_) => processor::time(),
            #[cfg(feature = "peers")]
            Server::Outside(program) => processor::of(program.id()),
        }
    }

    /// Its process, if it is not this one.
    fn process(&self) -> Option<u32> {
        match self {
            Server::Here | Server::Beside(_) => None,
            #[cfg(feature = "peers")]
            Server::Outside(program) => Some(program.id()),
        }
    }

    /// What its neighbours have done so far, if it has any.
    fn neighbours(&mut self, traffic: Traffic) -> Result<Option<u64>, Failure> {
        match (self, traffic) {
            (Server::Beside(neighbours), Traffic::Paused { .. }) => neighbours.done().map(Some),
            #[cfg(feature = "peers")]
            (Server::Outside(program), Traffic::Paused { .. }) => program.count().map(Some),
            _ => Ok(None),
        }
    }
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// For a workload's table.
pub(crate) fn check(p: &Params) -> Result<(), String> {
    if p.n == 0 || p.m == 0 || p.n < p.m {
        return Err(format!("{}: there are m connections, at least one, and n requests, at least as many", p.workload));
    }
    Ok(())
}

/// Measures the server that `start` starts at a listener.
pub(crate) fn measure(
    p: &Params,
    protocol: impl Protocol,
    traffic: Traffic,
    start: impl FnOnce(TcpListener) -> Result<Server, Failure>,
) -> Outcome {
    let wrong = |what: &str, error: std::io::Error| Failure::Wrong(format!("{what}: {error}"));
    let (traffic, few) = within_limits(traffic)?;
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| wrong("listening", error))?;
    // SAFETY: takes no pointers; to listen again sets the number that may wait.
    unsafe { libc::listen(listener.as_raw_fd(), BACKLOG) };
    let address = listener.local_addr().map_err(|error| wrong("listening", error))?;
    let apart = pin::is_room(p.workers);
    // Before there are threads.
    let client = Client::start(address, traffic, apart, protocol).map_err(|error| wrong("the client", error))?;
    if apart {
        pin::to_first(p.workers);
    }
    let server = start(listener)?;
    let mut measured = match traffic {
        Traffic::Silent { m } => silence::measure(client, &server, m, p.is_ours())?,
        _ => at_work(client, server, traffic)?,
    };
    measured.note = few;
    Ok(measured)
}

/// As many connections as the process may have descriptors. The text says so if they are fewer.
fn within_limits(traffic: Traffic) -> Result<(Traffic, Option<String>), Failure> {
    let (asked, most) = (traffic.connections(), limits::descriptors());
    match traffic {
        _ if asked <= most => Ok((traffic, None)),
        Traffic::Silent { .. } => {
            Ok((Traffic::Silent { m: most }, Some(format!("only {most} connections: `ulimit -Hn` allows no more"))))
        }
        _ => Err(Failure::Cannot(format!("{asked} connections; `ulimit -Hn` allows {most} beside the rest"))),
    }
}

/// Measures it while the client asks.
fn at_work(mut client: Client, mut server: Server, traffic: Traffic) -> Outcome {
    client.go();
    client.wait_for_begin()?;
    let (used, beside) = (server.processor_time(), server.neighbours(traffic)?);
    let result = client.wait_for_end()?;
    let used = server.processor_time().zip(used).map(|(now, before)| now.saturating_sub(before));
    let time = Duration::from_nanos(result.nanos);
    let mut served = result.served();
    let mut measured = match traffic {
        // What a request takes of the server: between two requests it waits.
        Traffic::Open { .. } => {
            let used = used.ok_or_else(|| Failure::Wrong("the system tells no processor time".into()))?;
            Measured::once(result.requests, used)
        }
        Traffic::Paused { .. } => Measured::once(1, Duration::from_nanos(result.p90)),
        Traffic::Closed { .. } | Traffic::Silent { .. } => Measured::once(result.requests, time),
    };
    match beside.zip(server.neighbours(traffic)?) {
        None => served.cpu_seconds_per_request = used.map(|used| used.as_secs_f64() / result.requests as f64),
        Some((before, now)) if now > before => {
            measured.background_per_second = Some((now - before) as f64 / time.as_secs_f64());
        }
        Some(_) => return Err(Failure::Wrong("what runs beside the server does not get on".into())),
    }
    measured.served = Some(served);
    Ok(measured.with_processors(used, time))
}
