//! The connector.

use crate::SocketIo;
use crate::net::TcpStream;
use hyper::Uri;
use myriad::hyper::Connector;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

/// Myriad's `Connector` in the place of hyper-util's.
#[derive(Debug, Clone, Default)]
pub struct HttpConnector(Connector);

impl HttpConnector {
    /// One without limits in time.
    pub fn new() -> HttpConnector {
        HttpConnector::default()
    }
}

impl Service<Uri> for HttpConnector {
    type Response = SocketIo;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<SocketIo>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move { Ok(SocketIo::new(TcpStream::from(connecting.await?))) })
    }
}
