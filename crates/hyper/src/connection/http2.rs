//! HTTP/1.1 or HTTP/2, as the client wants.

use crate::{Executor, Io, Timer};
use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::upgrade::Upgraded;
use hyper::{Request, Response};
use hyper_util::server::conn::auto::{self, UpgradeableConnection, upgrade};
use myriad_io::io::{PollRead, PollWrite};
use std::error::Error;
use std::time::Duration;

type Builder = auto::Builder<Executor>;

pub(crate) fn builder(header_timeout: Option<Duration>) -> Builder {
    let mut builder = Builder::new(Executor);
    builder.http1().timer(Timer).header_read_timeout(header_timeout);
    builder.http2().timer(Timer);
    builder
}

/// A connection that is served while it is polled.
pub(crate) fn serve<S, V, B>(
    builder: &Builder,
    stream: Io<S>,
    service: V,
) -> UpgradeableConnection<'_, Io<S>, V, Executor>
where
    S: PollRead + PollWrite + Unpin + Send + 'static,
    V: Service<Request<Incoming>, Response = Response<B>, Error: Into<Box<dyn Error + Send + Sync>>>,
    V::Future: Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    builder.serve_connection_with_upgrades(stream, service)
}

/// The stream of an upgrade, and what was read behind the request.
pub(crate) fn downcast<S>(upgraded: Upgraded) -> Result<(Io<S>, Bytes), Upgraded>
where
    S: PollRead + PollWrite + Unpin + Send + 'static,
{
    upgrade::downcast(upgraded).map(|parts| (parts.io, parts.read_buf))
}

/// Calls `f` with why a connection has ended.
pub(crate) fn with_error(error: Box<dyn Error + Send + Sync>, f: fn(&(dyn Error + 'static))) {
    f(&*error);
}
