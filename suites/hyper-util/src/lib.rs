//! What hyper-util's tests use of tokio and of a runtime, on Myriad's tasks, timers, sockets and
//! HTTP parts: `scripts/suites.sh hyper-util`. The tests see this package as `tokio`.
//!
//! hyper-util itself is the published one. Below it are `myriad::hyper`'s `Executor` (which the
//! script puts in the place of `TokioExecutor`), `Connector` ([`HttpConnector`]) and `Io`
//! ([`SocketIo`]). The traits of streams, and what they offer, are tokio's own; they need none of
//! its runtimes.

mod connector;
pub mod net;
pub mod runtime;

pub use connector::HttpConnector;
pub use net::SocketIo;
pub use suite_tokio::{pin, spawn, sync, time};

/// Tasks.
pub mod task {
    pub use crate::spawn;
}

/// Streams: tokio's traits.
pub mod io {
    use crate::net::TcpStream;

    pub use tokio::io::*;

    /// Copies between both, in both directions, until both have ended.
    ///
    /// # Errors
    /// Those of `myriad::io::copy_both`.
    pub async fn copy_bidirectional(one: &mut TcpStream, two: &mut TcpStream) -> Result<(u64, u64)> {
        let copied = myriad::io::copy_both_async(one.stream(), two.stream()).await?;
        Ok((copied.there, copied.back))
    }
}
