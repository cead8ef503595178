//! Servers.

use crate::{Io, connection};
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::{Request, Response};
use myriad_core::engine::user_code;
use myriad_core::time;
use myriad_io::io::{PollRead, PollWrite};
use myriad_io::net::{Accept, TcpListener, TcpStream, serve_async, unix::UnixListener};
use myriad_sync::lock::Event;
use std::error::Error;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// What a server accepts connections at. Example: [`Server`].
pub trait Listener: Accept<Stream: PollRead + PollWrite + Unpin> {
    /// A connection begins.
    #[doc(hidden)]
    fn accepted(_: &Self::Stream) {}
}

impl Listener for TcpListener {
    /// The pieces of an answer go at once: with Nagle's algorithm the second one waits for the
    /// client to confirm the first, which it may put off for 40 ms.
    fn accepted(stream: &TcpStream) {
        // (It fails where the client has gone, which is seen soon.)
        _ = stream.set_nodelay(true);
    }
}

impl Listener for UnixListener {}

/// A server: a service, which answers requests, and limits.
///
/// A service is hyper's: a [`handler`](super::handler()), whose closure may block, or
/// `hyper::service::service_fn` with an `async` function.
///
/// # Examples
/// ```
/// use http_body_util::Full;
/// use hyper::body::Bytes;
/// use hyper::{Request, Response, body::Incoming, service::service_fn};
/// use myriad::hyper::{BodyReader, Server};
/// use std::convert::Infallible;
/// use std::io::Read;
/// use std::time::Duration;
/// async fn hello(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
///     Ok(Response::new(Full::from(format!("hello from {}", request.uri().path()))))
/// }
/// let listener = myriad::net::TcpListener::bind("127.0.0.1:0")?;
/// let (address, port) = (listener.local_addr()?, listener.try_clone()?);
/// let server = Server::new(service_fn(hello)).limit(1000).header_timeout(Some(Duration::from_secs(5)));
/// let server = myriad::spawn(move || server.serve(&listener));
///
/// let client = myriad::hyper::client::<Full<Bytes>>();
/// let answer = myriad::block_on(client.get(format!("http://{address}/here").parse().unwrap())).unwrap();
/// let mut text = String::new();
/// BodyReader::new(answer.into_body()).read_to_string(&mut text)?;
/// assert_eq!(text, "hello from /here");
/// port.close(); // what is under way is answered, and the connection of that client, which is idle, ends
/// server.join().unwrap()?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Server<S> {
    service: S,
    limit: usize,
    header_timeout: Option<Duration>,
}

impl<S, B> Server<S>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    /// A server with this service, 10,000 connections at most, and half a minute for a request's
    /// head.
    pub fn new(service: S) -> Server<S> {
        Server { service, limit: 10_000, header_timeout: Some(Duration::from_secs(30)) }
    }

    /// So many connections live at the same time, at most. Clients beyond that wait in the system's
    /// queue.
    pub fn limit(self, limit: usize) -> Server<S> {
        Server { limit, ..self }
    }

    /// How long a client may take to send the head of a request, and how long a connection may be
    /// idle; `None`: for ever. Of HTTP/2, for the first request only.
    pub fn header_timeout(self, timeout: Option<Duration>) -> Server<S> {
        Server { header_timeout: timeout, ..self }
    }

    /// Accepts connections, and answers their requests: HTTP/1.1, and with the feature `http2`
    /// HTTP/2, as the client wants.
    ///
    /// # Blocking
    /// Until the listener is closed. Then idle connections end, what was begun is answered, and
    /// this returns when all connections have ended.
    ///
    /// # Cancellation
    /// The connections are dropped.
    ///
    /// # Panics
    /// A panic of the service, or an error that it returns, ends its connection only, and is told
    /// as the panic of a task whose handle was dropped: see `Builder::on_unhandled_panic`.
    ///
    /// # Errors
    /// What `accept` fails with, but for a close and a lack of descriptors, where it waits: once
    /// all connections have ended as after a close. `InvalidInput`: the limit is 0. (What goes
    /// wrong with one connection is that client's.)
    pub fn serve<L: Listener>(&self, listener: &L) -> io::Result<()>
    where
        L::Stream: Sync,
    {
        myriad_core::block_on(self.serve_async(listener))
    }

    /// [`serve`](Self::serve) as a future.
    ///
    /// # Cancellation
    /// Dropped before it is ready, the connections are dropped, soon after.
    ///
    /// # Errors
    /// As [`serve`](Self::serve).
    pub async fn serve_async<L: Listener>(&self, listener: &L) -> io::Result<()>
    where
        L::Stream: Sync,
    {
        let builder = connection::builder(self.header_timeout);
        let (builder, service, head_timeout) = (Arc::new(builder), self.service.clone(), self.header_timeout);
        let closed = Arc::new(Event::new());
        let until_closed = UntilClosed { listener, closed: closed.clone() };
        serve_async(&until_closed, self.limit, move |stream| {
            let (builder, service, closed) = (builder.clone(), service.clone(), closed.clone());
            L::accepted(&stream);
            // (hyper's own limit for heads begins when it knows the protocol, by the first bytes.)
            stream.read_until(head_timeout.map(|timeout| time::now() + timeout));
            let service = FirstSeen { service, stream: stream.another(), seen: AtomicBool::new(false) };
            async move {
                let mut connection = pin!(connection::serve(&builder, Io::new(stream), service));
                let mut closes = pin!(closed.wait_async());
                let mut asked = false;
                let ended = poll_fn(|cx| {
                    if !asked && closes.as_mut().poll(cx).is_ready() {
                        asked = true;
                        connection.as_mut().graceful_shutdown();
                    }
                    connection.as_mut().poll(cx)
                })
                .await;
                if let Err(error) = ended {
                    connection::with_error(error, tell);
                }
            }
        })
        .await
    }
}

/// Says why a connection has ended, if that is the service's doing. Most often it is the client's,
/// which has gone, or has sent nonsense: also where the service passes such an error on.
fn tell(error: &(dyn Error + 'static)) {
    let reasons = || std::iter::successors(Some(error), |&error| error.source());
    let of_hyper = |error: &(dyn Error + 'static)| error.downcast_ref().map(hyper::Error::is_user);
    if of_hyper(error) == Some(true) && reasons().filter_map(of_hyper).all(|is_user| is_user) {
        let reasons: Vec<_> = reasons().map(|error| error.to_string()).collect();
        user_code::report(&format!("a connection of an HTTP server: {}", reasons.join(": ")));
    }
}

/// The service of one connection, whose first request is to come in time.
struct FirstSeen<S, T> {
    service: S,
    stream: T,
    seen: AtomicBool,
}

impl<S, T, R> Service<R> for FirstSeen<S, T>
where
    S: Service<R>,
    T: PollRead,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, request: R) -> S::Future {
        if !self.seen.swap(true, Relaxed) {
            self.stream.read_until(None);
        }
        self.service.call(request)
    }
}

/// A listener that tells its connections of its end.
struct UntilClosed<'a, L> {
    listener: &'a L,
    closed: Arc<Event>,
}

impl<L: Accept> Accept for UntilClosed<'_, L> {
    type Stream = L::Stream;

    fn accept_one(&self) -> io::Result<L::Stream> {
        self.listener.accept_one()
    }

    fn accept_one_async(&self) -> impl Future<Output = io::Result<L::Stream>> + Send {
        self.listener.accept_one_async()
    }

    fn ends(&self) {
        self.closed.set();
    }

    fn is_closed(&self) -> bool {
        let is_closed = self.listener.is_closed();
        if is_closed {
            self.closed.set();
        }
        is_closed
    }
}
