//! Streams of connections that became something else.

use crate::connection;
use bytes::Bytes;
use hyper::upgrade::Upgraded;
use myriad_io::io::{PollRead, PollWrite};

/// Takes the stream of a connection of a [`Server`](super::Server) back after an upgrade, and what
/// was read behind the request.
///
/// # Errors
/// What was upgraded is no connection over such a stream: it comes back.
///
/// # Examples
/// ```
/// use hyper::{Request, body::Incoming};
/// use myriad::net::TcpStream;
/// // In a handler, whose answer has the status 101:
/// fn take_over(mut request: Request<Incoming>) {
///     let upgraded = hyper::upgrade::on(&mut request);
///     myriad::spawn(move || {
///         let upgraded = myriad::block_on(upgraded)?;
///         let (stream, first) = myriad::hyper::downcast::<TcpStream>(upgraded).expect("over TCP");
///         println!("{:?} went on with {first:?}", stream.peer_addr());
///         hyper::Result::Ok(())
///     });
/// }
/// ```
pub fn downcast<S>(upgraded: Upgraded) -> Result<(S, Bytes), Upgraded>
where
    S: PollRead + PollWrite + Unpin + Send + 'static,
{
    connection::downcast(upgraded).map(|(stream, read)| (stream.into_inner(), read))
}
