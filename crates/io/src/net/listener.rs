//! Who accepts connections over TCP.

use super::address::{ToSocketAddrs, lookup};
use super::error::operation;
use super::macros::{limits, operations, socket};
use super::serve::accepts;
use super::stream::TcpStream;
use crate::source::{self, Source};
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{self, SocketAddr};

/// So many connections may wait to be accepted; the system may say fewer. (With std's 128 a client
/// beside a burst of others waits a second for its second try.)
const BACKLOG: i32 = 4096;

/// A port at which connections over TCP are accepted.
///
/// See the [module](super) for what all sockets have in common.
///
/// # Examples
/// ```
/// use myriad::net::{TcpListener, TcpStream};
/// use std::io::{Read, Write};
/// let listener = TcpListener::bind("127.0.0.1:0")?;
/// let (address, port) = (listener.local_addr()?, listener.try_clone()?);
/// // A task for each client, and at most a hundred at a time.
/// let server = myriad::spawn(move || listener.serve(100, |stream| _ = (&stream).write_all(b"hello")));
/// let mut text = String::new();
/// TcpStream::connect(address)?.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// port.close();
/// server.join().unwrap()?; // its connections have ended
/// # std::io::Result::Ok(())
/// ```
/// One that is std's, with a limit, and without tasks:
/// ```
/// use myriad::net::{TcpListener, TcpStream};
/// use std::time::Duration;
/// let listener = TcpListener::from_std(std::net::TcpListener::bind("127.0.0.1:0")?)?;
/// listener.set_ttl(64)?;
/// listener.set_accept_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
/// let _client = TcpStream::connect(listener.local_addr()?)?;
/// for stream in listener.incoming().take(1) {
///     assert!(stream?.peer_addr()?.ip().is_loopback());
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct TcpListener {
    source: Source<net::TcpListener>,
}

impl TcpListener {
    /// Listens at the first of these addresses that is free; port 0: at any port. (With
    /// `SO_REUSEADDR`, as std does.)
    ///
    /// # Errors
    /// That of the last address: `AddrInUse`, for example.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
        let mut last = None;
        for address in lookup(address)? {
            match TcpListener::listen_at(address) {
                Ok(listener) => return Ok(listener),
                Err(reason) => last = Some(operation("listen at", Some(address), reason)),
            }
        }
        Err(last.expect("a look-up has at least one address"))
    }

    fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
        let kind = Type::STREAM.nonblocking().cloexec();
        let socket = Socket::new(Domain::for_address(address), kind, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        TcpListener::from_std(socket.into())
    }

    /// Takes a listener of std's over, which does not block from now on.
    ///
    /// # Errors
    /// Those of the system.
    pub fn from_std(listener: net::TcpListener) -> io::Result<TcpListener> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr().ok();
        Ok(TcpListener { source: Source::new(listener, address) })
    }

    /// Another handle of this listener.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        Ok(TcpListener { source: self.source.clone() })
    }

    operations! {
        /// Accepts the connection that has waited longest. One that its client has given up in the
        /// meantime is passed over.
        accept, accept_async: false "accept at" () -> (TcpStream, SocketAddr) = |listener| accept(listener);
    }

    limits! {
        false accept_timeout set_accept_timeout set_accept_deadline;
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.source.socket().local_addr()
    }

    /// How many routers a packet of an accepted connection may pass.
    ///
    /// # Errors
    /// Those of the system.
    pub fn ttl(&self) -> io::Result<u32> {
        self.source.socket().ttl()
    }

    /// Sets how many routers a packet of an accepted connection may pass.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.source.socket().set_ttl(ttl)
    }
}

impl source::Socket for net::TcpListener {
    fn failed(&self, what: &'static str, address: Option<SocketAddr>, reason: io::Error) -> io::Error {
        operation(what, address, reason)
    }
}

fn accept(listener: &net::TcpListener) -> io::Result<((TcpStream, SocketAddr), bool)> {
    loop {
        match acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
            Ok((socket, peer)) => {
                let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
                let peer = peer.map_or_else(|| net::TcpStream::from(socket.try_clone()?).peer_addr(), Ok)?;
                return Ok(((TcpStream::accepted(socket, peer), peer), true));
            }
            // Errors of a connection that is over: the next one may be there.
            Err(Errno::CONNABORTED | Errno::PROTO | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

socket!(TcpListener, net::TcpListener);
accepts!(TcpListener, TcpStream);
