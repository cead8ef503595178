//! Sockets with the names and shapes of `std::net`, for tasks, futures and plain threads.
//!
//! | | |
//! |---|---|
//! | [`TcpListener`], [`TcpStream`] | connections over TCP |
//! | [`UdpSocket`] | datagrams over UDP |
//! | [`unix`] | Unix sockets: streams, datagrams, descriptors that go along |
//! | [`lookup`] | the addresses of a name |
//!
//! **One type for both worlds.** Each operation that may wait exists twice: `read` blocks its
//! caller, and `read_async` is a future. A closure in a task is suspended while it waits, and its
//! worker runs others; a plain thread waits in the system. Nothing has to be "inside" of a runtime.
//!
//! **Shared by reference.** All operations take `&self`, and `&TcpStream` reads and writes as
//! `TcpStream` does: so one task may read while another one writes, in a [`scope`] or by an `Arc`.
//! [`TcpStream::try_clone`] makes another handle of the same socket.
//!
//! **Cancellation.** A wait that is given up, by a time limit, a cancellation or by dropping its
//! future, has moved no byte: what comes next reads or writes all of it. What consists of many
//! operations (`read_exact`, `write_all`) may have done some of them.
//!
//! **Closing.** `close` ends all operations of a socket, also those that wait, in whatever task:
//! they fail with [`NotConnected`](std::io::ErrorKind::NotConnected). The descriptor is closed with
//! the last handle.
//!
//! **Limits in time** are `set_read_timeout` and its kind, for each operation, and
//! `set_read_deadline`, a time that another task may move. An operation that is over time fails
//! with [`TimedOut`](std::io::ErrorKind::TimedOut) (std says `WouldBlock`).
//!
//! **Errors** name the operation and the address: see [`OperationError`].
//!
//! [`scope`]: myriad_core::scope
//!
//! # Examples
//! ```
//! use myriad::net::{TcpListener, TcpStream};
//! use std::io::{Read, Write};
//!
//! let listener = TcpListener::bind("127.0.0.1:0")?;
//! let address = listener.local_addr()?;
//! myriad::spawn(move || {
//!     // A task for each connection, and at most 1,000 of them at a time.
//!     listener.serve(1000, |stream| _ = std::io::copy(&mut &stream, &mut &stream))
//! });
//! let mut client = TcpStream::connect(address)?;
//! client.write_all(b"hello")?;
//! let mut answer = [0; 5];
//! client.read_exact(&mut answer)?;
//! assert_eq!(&answer, b"hello");
//! # std::io::Result::Ok(())
//! ```

mod address;
mod connect;
pub(crate) mod error;
mod gather;
mod listener;
pub(crate) mod macros;
mod resolver;
mod serve;
mod stream;
mod udp;

pub mod unix;

pub use address::{ToSocketAddrs, lookup, lookup_async};
pub use error::OperationError;
pub use listener::TcpListener;
pub use serve::Incoming;
#[doc(hidden)]
pub use serve::{Accept, serve_async};
pub use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6};
pub use stream::TcpStream;
pub use udp::UdpSocket;
