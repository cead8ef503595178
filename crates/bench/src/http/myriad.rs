//! `http` by Myriad: a future for each connection; the handler is a closure in a task, or a future.

use std::convert::Infallible;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use myriad::hyper::{Server, handler};
use myriad::net::TcpListener;

use super::measure;
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::served;

/// The answer to a request.
pub(super) fn answer(request: &Request<impl Body>) -> Response<Full<Bytes>> {
    Response::new(Full::from(request.uri().path().to_owned()))
}

pub(super) fn closure(p: &Params) -> Outcome {
    serve(p, handler(|request| answer(&request)))
}

pub(super) fn future(p: &Params) -> Outcome {
    serve(p, service_fn(|request: Request<Incoming>| async move { Ok::<_, Infallible>(answer(&request)) }))
}

fn serve<S>(p: &Params, service: S) -> Outcome
where
    S: Service<Request<Incoming>, Response = Response<Full<Bytes>>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: std::error::Error + Send + Sync,
{
    measure(p, |listener| {
        let mut builder = host::myriad::builder(p);
        if cfg!(debug_assertions) {
            // (Not optimised, the frames of hyper do not fit into the stack of a fiber.)
            builder = builder.stack_size(1 << 20);
        }
        let rt = host::myriad::build(builder)?;
        let listener = TcpListener::from_std(listener).map_err(|error| Failure::Wrong(error.to_string()))?;
        let server = Server::new(service).header_timeout(None);
        drop(rt.spawn_async(async move { server.serve_async(&listener).await }));
        // (A process that does a single run: the tasks end with it.)
        std::mem::forget(rt);
        Ok(served::Server::Here)
    })
}
