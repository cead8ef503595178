//! Datagrams over Unix sockets.

use super::SocketAddr;
use super::address::{of_path, text, to_system};
use super::fds::{self, Received};
use crate::net::error::operation;
use crate::net::macros::{limits, operations, socket};
use crate::source::{Socket, Source};
use rustix::net::{RecvFlags, SendFlags, recv, send, sendto};
use std::io;
use std::net::Shutdown;
use std::os::fd::BorrowedFd;
use std::os::unix::net;
use std::path::Path;

/// A Unix socket for datagrams: they arrive in order, and none is lost.
///
/// See [`net`](crate::net) for what all sockets have in common.
///
/// # Examples
/// ```
/// use myriad::net::unix::UnixDatagram;
/// let (one, two) = UnixDatagram::pair()?;
/// one.send(b"hello")?;
/// let mut bytes = [0; 16];
/// assert_eq!(two.recv(&mut bytes)?, 5);
/// # std::io::Result::Ok(())
/// ```
/// With names, descriptors and limits:
/// ```
/// use myriad::net::{Shutdown, unix::{SocketAddr, SocketAddrExt, UnixDatagram}};
/// use std::os::fd::AsFd;
/// use std::time::Duration;
/// let path = std::env::temp_dir().join(format!("myriad-datagrams-{}", std::process::id()));
/// let name = SocketAddr::from_abstract_name(format!("myriad-datagrams-{}", std::process::id()))?;
/// let (server, client) = (UnixDatagram::bind(&path)?, UnixDatagram::bind_addr(&name)?);
/// client.set_write_timeout(Some(Duration::from_secs(10)))?; // of a queue that is full
/// client.send_to(b"hello", &path)?;
/// let mut bytes = [0; 16];
/// assert_eq!(server.peek(&mut bytes)?, 5, "it stays");
/// let (n, from) = server.recv_from(&mut bytes)?;
/// server.send_to_addr(&bytes[..n], &from)?;
/// client.connect(&path)?;
/// client.send_with_fds(b"a socket", &[client.as_fd()])?;
/// let mut received = server.recv_with_fds(&mut bytes)?;
/// let same = std::os::unix::net::UnixDatagram::from(received.fds.remove(0));
/// assert!(UnixDatagram::from_std(same)?.local_addr()?.as_abstract_name().is_some());
/// server.set_read_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(server.recv(&mut bytes).unwrap_err().kind(), std::io::ErrorKind::TimedOut);
/// let nobody = UnixDatagram::unbound()?;
/// nobody.connect_addr(&server.local_addr()?)?;
/// nobody.shutdown(Shutdown::Write)?;
/// nobody.close();
/// std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UnixDatagram {
    source: Source<net::UnixDatagram>,
}

/// A datagram may be followed by another one, whatever its length.
fn one<T>(result: T) -> (T, bool) {
    (result, true)
}

impl UnixDatagram {
    /// Makes a socket at this path, which stays when the socket goes.
    ///
    /// # Errors
    /// `AddrInUse`: there is something at the path; `InvalidInput`: the path is too long.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<UnixDatagram> {
        UnixDatagram::bind_addr(&of_path("bind to", path.as_ref())?)
    }

    /// As [`bind`](Self::bind), at this address, which may be an abstract name.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixDatagram> {
        let bound = net::UnixDatagram::bind_addr(address).and_then(UnixDatagram::from_std);
        bound.map_err(|reason| operation("bind to", text(address), reason))
    }

    /// A socket without a name: it can send, and nobody can send to it.
    ///
    /// # Errors
    /// Those of the system.
    pub fn unbound() -> io::Result<UnixDatagram> {
        UnixDatagram::from_std(net::UnixDatagram::unbound()?)
    }

    /// Two sockets, each connected to the other.
    ///
    /// # Errors
    /// Those of the system.
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        let (one, two) = net::UnixDatagram::pair()?;
        Ok((UnixDatagram::from_std(one)?, UnixDatagram::from_std(two)?))
    }

    /// Takes a socket of std's over, which does not block from now on.
    ///
    /// # Errors
    /// Those of the system.
    pub fn from_std(socket: net::UnixDatagram) -> io::Result<UnixDatagram> {
        socket.set_nonblocking(true)?;
        Ok(UnixDatagram { source: Source::new(socket, None) })
    }

    /// Another handle of this socket.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn try_clone(&self) -> io::Result<UnixDatagram> {
        Ok(UnixDatagram { source: self.source.clone() })
    }

    /// Sends to the socket at this path from now on, and receives from it only. Does not wait.
    ///
    /// # Errors
    /// `NotFound`; `ConnectionRefused`: that socket is gone; `InvalidInput`: the path is too long.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.connect_addr(&of_path("connect to", path.as_ref())?)
    }

    /// As [`connect`](Self::connect), to this address.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        let connected = self.source.socket().connect_addr(address);
        connected.map_err(|reason| operation("connect to", text(address), reason))
    }

    /// Sends a datagram to the socket at this path. Returns its length.
    ///
    /// # Blocking
    /// While the receiver's queue is full. The system tells that only to those who are
    /// [connected](Self::connect) to it: so it is tried again after a millisecond, then less often,
    /// and at last each 50 ms.
    ///
    /// # Errors
    /// Those of the system, with the address; `TimedOut`; `NotConnected` after `close`.
    pub fn send_to(&self, bytes: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        self.send_to_addr(bytes, &of_path("send to", path.as_ref())?)
    }

    /// [`send_to`](Self::send_to) as a future.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has sent nothing.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to).
    pub async fn send_to_async(&self, bytes: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        let address = of_path("send to", path.as_ref())?;
        self.send_to_addr_async(bytes, &address).await
    }

    /// As [`send_to`](Self::send_to), to this address.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to).
    pub fn send_to_addr(&self, bytes: &[u8], address: &SocketAddr) -> io::Result<usize> {
        let sent = to_system(address)
            .and_then(|to| self.source.retry(|unix| Ok(sendto(unix, bytes, SendFlags::NOSIGNAL, &to)?)));
        sent.map_err(|reason| operation("send to", text(address), reason))
    }

    /// [`send_to_addr`](Self::send_to_addr) as a future.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has sent nothing.
    ///
    /// # Errors
    /// As [`send_to`](Self::send_to).
    pub async fn send_to_addr_async(&self, bytes: &[u8], address: &SocketAddr) -> io::Result<usize> {
        let sent = async {
            let to = to_system(address)?;
            self.source.retry_async(|unix| Ok(sendto(unix, bytes, SendFlags::NOSIGNAL, &to)?)).await
        };
        sent.await.map_err(|reason| operation("send to", text(address), reason))
    }

    operations! {
        /// Receives a datagram: its length, and who has sent it. What does not fit into the buffer
        /// is lost.
        recv_from, recv_from_async: false "receive at" (buffer: &mut [u8]) -> (usize, SocketAddr) =
            |unix| unix.recv_from(buffer).map(one);
        /// Receives a datagram: its length. What does not fit into the buffer is lost.
        recv, recv_async: false "receive at" (buffer: &mut [u8]) -> usize = |unix| unix.recv(buffer).map(one);
        /// Receives a datagram, and the descriptors that came with it.
        recv_with_fds, recv_with_fds_async: false "receive at" (buffer: &mut [u8]) -> Received =
            |unix| fds::receive(unix, buffer);
        /// Looks at the next datagram, which stays: its length.
        peek, peek_async: false "peek at" (buffer: &mut [u8]) -> usize =
            |unix| Ok(one(recv(unix, &mut *buffer, RecvFlags::PEEK)?.0));
        /// Sends a datagram to the [connected](Self::connect) socket. Returns its length.
        send, send_async: true "send from" (bytes: &[u8]) -> usize =
            |unix| Ok(one(send(unix, bytes, SendFlags::NOSIGNAL)?));
        /// Sends a datagram with these descriptors, 253 at most, to the [connected](Self::connect)
        /// socket. Returns its length.
        send_with_fds, send_with_fds_async: true "send from" (bytes: &[u8], fds: &[BorrowedFd<'_>]) -> usize =
            |unix| fds::send(unix, bytes, fds, false);
    }

    limits! {
        false read_timeout set_read_timeout set_read_deadline;
        true write_timeout set_write_timeout set_write_deadline;
    }

    /// Ends the receiving, the sending, or both. Never blocks.
    ///
    /// # Errors
    /// Those of the system: `NotConnected`.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.source.socket().shutdown(how).map_err(|error| self.source.failed("shut down", error))
    }

    /// The address of this socket.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.source.socket().local_addr()
    }

    /// The [connected](Self::connect) address.
    ///
    /// # Errors
    /// `NotConnected`.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.source.socket().peer_addr()
    }
}

impl Socket for net::UnixDatagram {
    fn failed(&self, what: &'static str, _: Option<std::net::SocketAddr>, reason: io::Error) -> io::Error {
        operation(what, self.local_addr().ok().as_ref().and_then(text), reason)
    }
}

socket!(UnixDatagram, net::UnixDatagram);
