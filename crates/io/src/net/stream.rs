//! A connection over TCP.

use super::address::{ToSocketAddrs, lookup, lookup_async};
use super::connect;
use super::error::operation;
use super::gather;
use super::macros::{bytes, limits, operations, socket};
use crate::source::{self, Reads, Source, Writes};
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::{self, Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// A connection over TCP: bytes in both directions, in order.
///
/// It is closed when the last handle is dropped. See the [module](super) for what all sockets have
/// in common.
///
/// # Examples
/// ```
/// use myriad::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let mut client = TcpStream::connect(listener.local_addr()?)?;
/// let (mut server, _) = listener.accept()?;
/// client.write_all(b"ping")?;
/// let mut bytes = [0; 4];
/// server.read_exact(&mut bytes)?;
/// assert_eq!(&bytes, b"ping");
/// drop(client);
/// assert_eq!(server.read(&mut bytes)?, 0, "the end");
/// # std::io::Result::Ok(())
/// ```
/// Operations of its own, which take `&self`, options, and limits:
/// ```
/// use myriad::net::{Shutdown, TcpListener, TcpStream};
/// use std::io::{ErrorKind, IoSlice, IoSliceMut};
/// use std::time::Duration;
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let one = TcpStream::from_std(std::net::TcpStream::connect(listener.local_addr()?)?)?;
/// let (two, _) = listener.accept()?;
/// one.set_nodelay(true)?;
/// one.set_ttl(64)?;
/// one.set_linger(None)?;
/// one.set_write_timeout(Some(Duration::from_secs(10)))?;
/// assert_eq!(one.write(b"head")?, 4);
/// assert_eq!(one.write_vectored(&[IoSlice::new(b"er"), IoSlice::new(b", text")])?, 8);
/// let (mut first, mut head, mut text) = ([0], [0; 6], [0; 6]);
/// assert_eq!(two.peek(&mut first)?, 1, "it stays");
/// myriad::block_on(two.read_exact_async(&mut head))?;
/// assert!(two.read_vectored(&mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut text)])? > 0);
/// one.shutdown(Shutdown::Write)?;
/// let mut rest = Vec::new();
/// myriad::block_on(two.read_to_end_async(&mut rest))?;
/// one.set_read_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(one.read(&mut text).unwrap_err().kind(), ErrorKind::TimedOut);
/// two.close();
/// assert_eq!(two.write(b"x").unwrap_err().kind(), ErrorKind::NotConnected);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct TcpStream {
    pub(crate) source: Source<net::TcpStream>,
}

impl TcpStream {
    /// Connects to the first of these addresses that answers; a name may stand for several.
    ///
    /// They are tried as RFC 8305 has it ("Happy Eyeballs"): the families take turns, the next
    /// begins when one has failed, or has not answered for 250 ms, and when one answers the others
    /// are given up. (A plain thread tries one after the other.)
    ///
    /// # Blocking
    /// Until one answers, or the last has failed. The calling task is set aside meanwhile; a plain
    /// thread waits in the system.
    ///
    /// # Cancellation
    /// The attempts are given up, and their sockets closed.
    ///
    /// # Errors
    /// `ConnectionRefused`, for example. Of several addresses, that of the last to fail; its text
    /// names all.
    pub fn connect(address: impl ToSocketAddrs) -> io::Result<TcpStream> {
        TcpStream::connect_by(lookup(address)?, None)
    }

    /// As [`connect`](Self::connect), for so long at most, all addresses together (but for a name
    /// that has to be looked up). With little time the next address is tried sooner, so that each
    /// has its share.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); `TimedOut`.
    pub fn connect_timeout(address: impl ToSocketAddrs, timeout: Duration) -> io::Result<TcpStream> {
        TcpStream::connect_by(lookup(address)?, Some(time::now() + timeout))
    }

    fn connect_by(addresses: Vec<SocketAddr>, deadline: Option<Instant>) -> io::Result<TcpStream> {
        if addresses.len() > 1 && Caller::get().is_worker() {
            return myriad_core::block_on(TcpStream::connect_by_async(addresses, deadline));
        }
        let (mut left, mut failures) = (connect::interleave(addresses), Vec::new());
        while let Some(address) = left.pop_front() {
            let connected = TcpStream::begin(address).and_then(|stream| {
                stream.source.set_deadline(true, connect::share(deadline, left.len() + 1));
                stream.source.block_bare::<true, _>(is_connected)?;
                stream.source.set_deadline(true, None);
                Ok(stream)
            });
            match connected {
                Ok(stream) => return Ok(stream),
                Err(reason) => failures.push((address, reason)),
            }
        }
        Err(connect::failed(failures))
    }

    /// [`connect`](Self::connect) as a future.
    ///
    /// # Cancellation
    /// Dropped before it is ready, the attempts are given up, and their sockets closed.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_async(address: impl ToSocketAddrs) -> io::Result<TcpStream> {
        TcpStream::connect_by_async(lookup_async(address).await?, None).await
    }

    /// [`connect_timeout`](Self::connect_timeout) as a future, whose time begins when it is first
    /// polled, and holds for the look-up of a name, too.
    ///
    /// # Errors
    /// As [`connect_timeout`](Self::connect_timeout).
    pub async fn connect_timeout_async(address: impl ToSocketAddrs, timeout: Duration) -> io::Result<TcpStream> {
        let deadline = time::now() + timeout;
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the name was not looked up in time");
        let addresses = time::deadline_async(deadline, lookup_async(address)).await.map_err(late)??;
        TcpStream::connect_by_async(addresses, Some(deadline)).await
    }

    async fn connect_by_async(addresses: Vec<SocketAddr>, deadline: Option<Instant>) -> io::Result<TcpStream> {
        let attempt = |address| async move {
            let stream = TcpStream::begin(address)?;
            stream.source.set_deadline(true, deadline);
            stream.source.run::<true, _>(is_connected).await?;
            stream.source.set_deadline(true, None);
            Ok(stream)
        };
        connect::first(addresses, deadline, attempt).await
    }

    /// Begins to connect.
    fn begin(address: SocketAddr) -> io::Result<TcpStream> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        Ok(TcpStream { source: Source::connecting(socket.into(), address) })
    }

    /// A connection that a listener has accepted.
    pub(super) fn accepted(socket: OwnedFd, peer: SocketAddr) -> TcpStream {
        TcpStream { source: Source::new(socket.into(), Some(peer)) }
    }

    /// Takes a connection of std's over, which does not block from now on: that is a property of
    /// the open socket, which all its descriptors share.
    ///
    /// # Errors
    /// Those of the system.
    pub fn from_std(stream: net::TcpStream) -> io::Result<TcpStream> {
        stream.set_nonblocking(true)?;
        let peer = stream.peer_addr().ok();
        Ok(TcpStream { source: Source::new(stream, peer) })
    }

    /// Another handle of this connection: all that one of them does is true of both.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        Ok(TcpStream { source: self.source.clone() })
    }

    operations! {
        /// Reads some bytes. Returns how many: 0 at the end, or for an empty buffer.
        read, read_async: false "read from" (buffer: &mut [u8]) -> usize =
            |tcp| tcp.receive(buffer), unless buffer.is_empty() => 0;
        /// Reads some bytes into these buffers, one after the other. Returns how many.
        read_vectored, read_vectored_async: false "read from" (buffers: &mut [IoSliceMut<'_>]) -> usize =
            |tcp| tcp.receive_vectored(buffers),
            unless buffers.iter().all(|buffer| buffer.is_empty()) => 0;
        /// Reads some bytes, which the next read reads once more. Returns how many.
        peek, peek_async: false "peek from" (buffer: &mut [u8]) -> usize =
            |tcp| receive(tcp, buffer, RecvFlags::PEEK).map(|(n, _)| (n, true)), unless buffer.is_empty() => 0;
        /// Writes some bytes. Returns how many.
        write, write_async: true "write to" (buffer: &[u8]) -> usize =
            |tcp| tcp.send(buffer), unless buffer.is_empty() => 0;
        /// Writes some bytes of these buffers, one after the other. Returns how many.
        write_vectored, write_vectored_async: true "write to" (buffers: &[IoSlice<'_>]) -> usize =
            |tcp| tcp.send_vectored(buffers), unless buffers.iter().all(|buffer| buffer.is_empty()) => 0;
    }

    limits! {
        false read_timeout set_read_timeout set_read_deadline;
        true write_timeout set_write_timeout set_write_deadline;
    }

    /// Ends the reading, the writing, or both: the peer reads the end after what was written.
    /// Operations of that direction which wait see it, too. Never blocks.
    ///
    /// # Errors
    /// Those of the system: `NotConnected`, if the connection is over.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.source.socket().shutdown(how).map_err(|error| self.source.failed("shut down", error))
    }

    /// There is no more output.
    pub(crate) fn end_output(&self) -> io::Result<()> {
        // (The peer may have gone meanwhile: it has all that it wants.)
        self.shutdown(Shutdown::Write)
            .or_else(|error| if error.kind() == ErrorKind::NotConnected { Ok(()) } else { Err(error) })
    }

    /// The peer's address.
    ///
    /// # Errors
    /// Those of the system: `NotConnected`, if the connection is over.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.source.peer().map_or_else(|| self.source.socket().peer_addr(), Ok)
    }

    /// The address of this end.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.source.socket().local_addr()
    }

    /// Are small writes sent at once?
    ///
    /// # Errors
    /// Those of the system.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.source.socket().nodelay()
    }

    /// Sends small writes at once (true), or gathers them (Nagle's algorithm).
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.source.socket().set_nodelay(nodelay)
    }

    /// How many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.source.socket().ttl()
    }

    /// Sets how many routers a packet may pass.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.source.socket().set_ttl(ttl)
    }

    /// How long the last handle's drop leaves the system to send what was written; `None`: as long
    /// as it takes, in the background.
    ///
    /// # Errors
    /// Those of the system.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        socket2::SockRef::from(&self.source).linger()
    }

    /// Sets what [`linger`](Self::linger) says. Zero: the connection is reset.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        socket2::SockRef::from(&self.source).set_linger(linger)
    }
}

impl source::Socket for net::TcpStream {
    fn failed(&self, what: &'static str, peer: Option<SocketAddr>, reason: io::Error) -> io::Error {
        operation(what, peer, reason)
    }
}

impl Reads for net::TcpStream {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        receive(self, buffer, RecvFlags::empty())
    }

    fn receive_uninit(&self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<(usize, bool)> {
        let len = buffer.len();
        let ((read, _), _) = recv(self, buffer, RecvFlags::empty())?;
        Ok((read.len(), read.len() == len || read.is_empty()))
    }

    fn receive_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<(usize, bool)> {
        { self }.read_vectored(buffers).map(|n| (n, true))
    }
}

impl Writes for net::TcpStream {
    fn send(&self, bytes: &[u8]) -> io::Result<(usize, bool)> {
        // (No signal also in a process that has not switched it off.)
        let n = send(self, bytes, SendFlags::NOSIGNAL)?;
        Ok((n, n == bytes.len()))
    }

    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<(usize, bool)> {
        gather::send_vectored(self, buffers)
    }
}

/// Is it connected now? `WouldBlock`: not yet.
fn is_connected(tcp: &net::TcpStream) -> io::Result<((), bool)> {
    // (Once: the system tells its error to the first who asks.)
    if let Some(error) = tcp.take_error()? {
        return Err(error);
    }
    match tcp.peer_addr() {
        Ok(_) => Ok(((), true)),
        Err(error) if error.kind() == ErrorKind::NotConnected => Err(ErrorKind::WouldBlock.into()),
        Err(error) => Err(error),
    }
}

fn receive(tcp: &net::TcpStream, buffer: &mut [u8], flags: RecvFlags) -> io::Result<(usize, bool)> {
    let len = buffer.len();
    let (n, _) = recv(tcp, buffer, flags)?;
    // At the end, too: each read finds it.
    Ok((n, n == len || n == 0))
}

socket!(TcpStream, net::TcpStream);
bytes!(TcpStream);
