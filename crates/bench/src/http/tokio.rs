//! `http` by tokio and hyper: a task for each connection.

use std::convert::Infallible;
use std::net::TcpListener;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::measure;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;
use crate::served::Server;

pub(super) fn future(p: &Params) -> Outcome {
    measure(p, |listener| {
        _ = host::tokio::serve(p, accept(listener));
        Ok(Server::Here)
    })
}

async fn accept(listener: TcpListener) {
    listener.set_nonblocking(true).expect("a socket takes that");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime with I/O");
    while let Ok((stream, _)) = listener.accept().await {
        _ = stream.set_nodelay(true);
        let service = service_fn(|request: Request<Incoming>| async move {
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(request.uri().path().to_owned())))
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}
