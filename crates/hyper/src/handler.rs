//! Closures that may block, as services.

use hyper::service::Service;
use hyper::{Request, Response, body::Incoming};
use myriad_core::{JoinError, JoinHandle};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A service that calls this closure with each request, in a task of its own, so it may block: on a
/// channel, a lock, another server, the request's body.
///
/// # Blocking
/// As the closure. Its connection waits; other connections do not, and neither do the workers.
///
/// # Cancellation
/// The task is cancelled when the client goes before it has its answer.
///
/// # Panics
/// A panic of the closure ends its connection, without an answer. [`Server`](super::Server) tells
/// it as that of a task whose handle was dropped.
///
/// # Examples
/// ```
/// use http_body_util::Full;
/// use hyper::body::Bytes;
/// use hyper::{Request, Response, body::Incoming};
/// use myriad::hyper::{BodyReader, Server, handler};
/// use std::io::Read;
/// let (orders, cook) = myriad::channel::bounded::<String>(10);
/// let shout = handler(move |request: Request<Incoming>| {
///     let mut text = String::new();
///     BodyReader::new(request.into_body()).read_to_string(&mut text).unwrap(); // blocks
///     orders.send(text.clone()).unwrap(); // so does this
///     Response::new(Full::new(Bytes::from(text.to_uppercase())))
/// });
/// let listener = myriad::net::TcpListener::bind("127.0.0.1:0")?;
/// let (address, port) = (listener.local_addr()?, listener.try_clone()?);
/// let server = myriad::spawn(move || Server::new(shout).serve(&listener));
///
/// let client = myriad::hyper::client::<Full<Bytes>>();
/// let request = Request::post(format!("http://{address}/")).body("hello".into()).unwrap();
/// let answer = myriad::block_on(client.request(request)).unwrap();
/// let mut text = String::new();
/// BodyReader::new(answer.into_body()).read_to_string(&mut text)?;
/// assert_eq!((text.as_str(), cook.recv().unwrap().as_str()), ("HELLO", "hello"));
/// port.close();
/// server.join().unwrap()?;
/// # std::io::Result::Ok(())
/// ```
pub fn handler<F, B>(f: F) -> Handler<F>
where
    F: Fn(Request<Incoming>) -> Response<B> + Send + Sync + 'static,
    B: Send + 'static,
{
    Handler(Arc::new(f))
}

/// The service of [`handler`](handler()). Example: [`handler`](handler()).
pub struct Handler<F>(Arc<F>);

impl<F> Clone for Handler<F> {
    fn clone(&self) -> Handler<F> {
        Handler(self.0.clone())
    }
}

impl<F> fmt::Debug for Handler<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Handler(..)")
    }
}

impl<F, B> Service<Request<Incoming>> for Handler<F>
where
    F: Fn(Request<Incoming>) -> Response<B> + Send + Sync + 'static,
    B: Send + 'static,
{
    type Response = Response<B>;
    type Error = JoinError;
    type Future = Answering<B>;

    fn call(&self, request: Request<Incoming>) -> Answering<B> {
        let f = self.0.clone();
        Answering(Some(myriad_core::spawn(move || f(request))))
    }
}

/// An answer on its way: the future of a [`Handler`]. Example: [`handler`](handler()).
#[derive(Debug)]
pub struct Answering<B>(Option<JoinHandle<Response<B>>>);

impl<B> Future for Answering<B> {
    type Output = Result<Response<B>, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let task = self.0.as_mut().expect("a future is not polled after it was ready");
        let done = std::task::ready!(Pin::new(task).poll(cx));
        self.0 = None;
        Poll::Ready(done)
    }
}

impl<B> Drop for Answering<B> {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            // Nobody waits for the answer any more.
            task.cancel();
        }
    }
}
