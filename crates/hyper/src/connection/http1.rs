//! HTTP/1.1 only.

use crate::{Io, Timer};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1::{Builder, UpgradeableConnection};
use hyper::service::Service;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use myriad_io::io::{PollRead, PollWrite};
use std::error::Error;
use std::time::Duration;

pub(crate) fn builder(header_timeout: Option<Duration>) -> Builder {
    let mut builder = Builder::new();
    builder.timer(Timer).header_read_timeout(header_timeout);
    builder
}

/// A connection that is served while it is polled.
pub(crate) fn serve<S, V, B>(builder: &Builder, stream: Io<S>, service: V) -> UpgradeableConnection<Io<S>, V>
where
    S: PollRead + PollWrite + Unpin + Send + 'static,
    V: Service<Request<Incoming>, Response = Response<B>, Error: Into<Box<dyn Error + Send + Sync>>>,
    B: Body<Error: Into<Box<dyn Error + Send + Sync>>> + 'static,
{
    builder.serve_connection(stream, service).with_upgrades()
}

/// The stream of an upgrade, and what was read behind the request.
pub(crate) fn downcast<S>(upgraded: Upgraded) -> Result<(Io<S>, Bytes), Upgraded>
where
    S: PollRead + PollWrite + Unpin + Send + 'static,
{
    upgraded.downcast().map(|parts| (parts.io, parts.read_buf))
}

/// Calls `f` with why a connection has ended.
pub(crate) fn with_error(error: hyper::Error, f: fn(&(dyn Error + 'static))) {
    f(&error);
}
