//! Datagrams over UDP.

use super::address::{ToSocketAddrs, lookup};
use super::error::operation;
use super::macros::{limits, operations, socket};
use crate::source::{Socket, Source};
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A socket for datagrams over UDP.
///
/// See the [module](super) for what all sockets have in common.
///
/// # Examples
/// ```
/// use myriad::net::UdpSocket;
/// let (one, two) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
/// one.send_to(b"hello", two.local_addr()?)?;
/// let mut bytes = [0; 16];
/// assert_eq!(two.recv_from(&mut bytes)?, (5, one.local_addr()?));
/// # std::io::Result::Ok(())
/// ```
/// Connected, with options and limits:
/// ```
/// use myriad::net::UdpSocket;
/// use std::io::ErrorKind;
/// use std::time::Duration;
/// let one = UdpSocket::from_std(std::net::UdpSocket::bind("127.0.0.1:0")?)?;
/// let two = UdpSocket::bind("127.0.0.1:0")?;
/// one.set_ttl(8)?;
/// one.set_broadcast(false)?;
/// one.set_write_timeout(Some(Duration::from_secs(10)))?;
/// one.connect(two.local_addr()?)?;
/// two.connect(one.local_addr()?)?;
/// one.send(b"hello")?;
/// let mut bytes = [0; 16];
/// assert_eq!(two.peek(&mut bytes)?, 5, "it stays");
/// assert_eq!(two.peek_from(&mut bytes)?, (5, one.local_addr()?));
/// assert_eq!(two.recv(&mut bytes)?, 5);
/// two.set_read_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(two.recv(&mut bytes).unwrap_err().kind(), ErrorKind::TimedOut);
/// two.close();
/// assert_eq!(two.recv(&mut bytes).unwrap_err().kind(), ErrorKind::NotConnected);
/// # std::io::Result::Ok(())
/// ```
/// For a group (which takes an interface that has them):
/// ```no_run
/// use myriad::net::{Ipv4Addr, Ipv6Addr, UdpSocket};
/// let socket = UdpSocket::bind("0.0.0.0:5353")?;
/// let group = Ipv4Addr::new(224, 0, 0, 251);
/// socket.join_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
/// socket.leave_multicast_v4(&group, &Ipv4Addr::UNSPECIFIED)?;
/// let socket = UdpSocket::bind("[::]:5353")?;
/// let group: Ipv6Addr = "ff02::fb".parse().unwrap();
/// socket.join_multicast_v6(&group, 0)?;
/// socket.leave_multicast_v6(&group, 0)?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UdpSocket {
    source: Source<net::UdpSocket>,
}

/// A datagram may be followed by another one, whatever its length.
fn one<T>(result: T) -> (T, bool) {
    (result, true)
}

impl UdpSocket {
    /// Takes the first of these addresses that is free; port 0: any port.
    ///
    /// # Errors
    /// That of the last address: `AddrInUse`, for example.
    pub fn bind(address: impl ToSocketAddrs) -> io::Result<UdpSocket> {
        let mut last = None;
        for address in lookup(address)? {
            match net::UdpSocket::bind(address).and_then(UdpSocket::from_std) {
                Ok(socket) => return Ok(socket),
                Err(reason) => last = Some(operation("bind to", Some(address), reason)),
            }
        }
        Err(last.expect("a look-up has at least one address"))
    }

    /// Takes a socket of std's over, which does not block from now on.
    ///
    /// # Errors
    /// Those of the system.
    pub fn from_std(socket: net::UdpSocket) -> io::Result<UdpSocket> {
        socket.set_nonblocking(true)?;
        Ok(UdpSocket { source: Source::new(socket, None) })
    }

    /// Another handle of this socket.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        Ok(UdpSocket { source: self.source.clone() })
    }

    /// Sends to this address from now on, and receives from it only. Of several addresses, the
    /// first that is possible. Sends nothing, and does not wait (but for the look-up of a name).
    ///
    /// # Errors
    /// That of the last address.
    pub fn connect(&self, address: impl ToSocketAddrs) -> io::Result<()> {
        let mut last = None;
        for address in lookup(address)? {
            match self.source.socket().connect(address) {
                Ok(()) => return Ok(()),
                Err(reason) => last = Some(operation("connect to", Some(address), reason)),
            }
        }
        Err(last.expect("a look-up has at least one address"))
    }

    operations! {
        /// Receives a datagram: its length, and who has sent it. What does not fit into the buffer
        /// is lost.
        recv_from, recv_from_async: false "receive at" (buffer: &mut [u8]) -> (usize, SocketAddr) =
            |udp| udp.recv_from(buffer).map(one);
        /// Looks at the next datagram, which stays: its length, and who has sent it.
        peek_from, peek_from_async: false "peek at" (buffer: &mut [u8]) -> (usize, SocketAddr) =
            |udp| udp.peek_from(buffer).map(one);
        /// Receives a datagram of the [connected](Self::connect) address: its length.
        recv, recv_async: false "receive at" (buffer: &mut [u8]) -> usize = |udp| udp.recv(buffer).map(one);
        /// Looks at the next datagram of the [connected](Self::connect) address, which stays: its
        /// length.
        peek, peek_async: false "peek at" (buffer: &mut [u8]) -> usize = |udp| udp.peek(buffer).map(one);
        /// Sends a datagram to this address. Returns its length.
        send_to, send_to_async: true "send from" (bytes: &[u8], address: SocketAddr) -> usize =
            |udp| udp.send_to(bytes, address).map(one);
        /// Sends a datagram to the [connected](Self::connect) address. Returns its length.
        send, send_async: true "send from" (bytes: &[u8]) -> usize = |udp| udp.send(bytes).map(one);
    }

    limits! {
        false read_timeout set_read_timeout set_read_deadline;
        true write_timeout set_write_timeout set_write_deadline;
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

    /// May it send to all of a network?
    ///
    /// # Errors
    /// Those of the system.
    pub fn broadcast(&self) -> io::Result<bool> {
        self.source.socket().broadcast()
    }

    /// Sets whether it may send to all of a network.
    ///
    /// # Errors
    /// Those of the system.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.source.socket().set_broadcast(broadcast)
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

    /// Receives what is sent to this group, by the interface with this address.
    ///
    /// # Errors
    /// Those of the system.
    pub fn join_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.source.socket().join_multicast_v4(group, interface)
    }

    /// Receives what is sent to this group, by the interface of this number.
    ///
    /// # Errors
    /// Those of the system.
    pub fn join_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.source.socket().join_multicast_v6(group, interface)
    }

    /// Receives what is sent to this group no more.
    ///
    /// # Errors
    /// Those of the system.
    pub fn leave_multicast_v4(&self, group: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()> {
        self.source.socket().leave_multicast_v4(group, interface)
    }

    /// Receives what is sent to this group no more.
    ///
    /// # Errors
    /// Those of the system.
    pub fn leave_multicast_v6(&self, group: &Ipv6Addr, interface: u32) -> io::Result<()> {
        self.source.socket().leave_multicast_v6(group, interface)
    }
}

impl Socket for net::UdpSocket {
    fn failed(&self, what: &'static str, _: Option<SocketAddr>, reason: io::Error) -> io::Error {
        operation(what, self.local_addr().ok(), reason)
    }
}

socket!(UdpSocket, net::UdpSocket);
