//! A connection over a Unix socket.

use super::SocketAddr;
use super::address::{of_path, text, to_system};
use super::fds::{self, Received};
use crate::net::error::operation;
use crate::net::gather;
use crate::net::macros::{bytes, limits, operations, socket};
use crate::source::{self, Reads, Source, Writes};
use myriad_core::time::{self, Instant};
use rustix::net::{RecvFlags, SendFlags, SocketAddrUnix, connect, recv, send};
use socket2::{Domain, Socket, Type};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

/// A connection over a Unix socket: bytes in both directions, in order, with descriptors among
/// them.
///
/// It is closed when the last handle is dropped. See [`net`](crate::net) for what all sockets have
/// in common.
///
/// # Examples
/// ```
/// use myriad::net::unix::UnixStream;
/// use std::io::{Read, Write};
/// let (mut one, mut two) = UnixStream::pair()?;
/// one.write_all(b"ping")?;
/// let mut bytes = [0; 4];
/// two.read_exact(&mut bytes)?;
/// assert_eq!(&bytes, b"ping");
/// drop(one);
/// assert_eq!(two.read(&mut bytes)?, 0, "the end");
/// # std::io::Result::Ok(())
/// ```
/// Operations of its own, which take `&self`, and limits:
/// ```
/// use myriad::net::{Shutdown, unix::UnixStream};
/// use std::io::{ErrorKind, IoSlice, IoSliceMut};
/// use std::time::Duration;
/// let (one, two) = std::os::unix::net::UnixStream::pair()?;
/// let (one, two) = (UnixStream::from_std(one)?, UnixStream::from_std(two)?);
/// one.set_write_timeout(Some(Duration::from_secs(10)))?;
/// assert_eq!(one.write(b"head")?, 4);
/// assert_eq!(one.write_vectored(&[IoSlice::new(b"er"), IoSlice::new(b", text")])?, 8);
/// let (mut head, mut text) = ([0; 8], [0; 8]);
/// assert_eq!(two.peek(&mut text)?, 8, "it stays");
/// assert_eq!(two.read_vectored(&mut [IoSliceMut::new(&mut head), IoSliceMut::new(&mut text)])?, 12);
/// two.set_read_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(two.read(&mut text).unwrap_err().kind(), ErrorKind::TimedOut);
/// one.shutdown(Shutdown::Write)?;
/// let mut rest = Vec::new();
/// myriad::block_on(two.read_to_end_async(&mut rest))?;
/// two.close();
/// assert_eq!(two.write(b"x").unwrap_err().kind(), ErrorKind::NotConnected);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UnixStream {
    pub(crate) source: Source<net::UnixStream>,
}

/// Who made the other end of a connection. It has the fields of std's type, which is not stable.
/// Example: [`UnixStream::connect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct UCred {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The process, if it has a number in this process's name space.
    pub pid: Option<i32>,
}

impl UnixStream {
    /// Connects to the socket at this path.
    ///
    /// # Blocking
    /// Only while the listener's queue is full. The system does not tell of its end: it is tried
    /// again after a millisecond, then less often, and at last each 50 ms.
    ///
    /// # Cancellation
    /// The attempt is given up, and its socket closed.
    ///
    /// # Errors
    /// `NotFound`; `ConnectionRefused`: nobody listens there any more; `InvalidInput`: the path is
    /// too long.
    ///
    /// # Examples
    /// ```
    /// use myriad::net::unix::{UnixListener, UnixStream};
    /// let path = std::env::temp_dir().join(format!("myriad-example-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let client = UnixStream::connect(&path)?;
    /// let again = UnixStream::connect_addr(&listener.local_addr()?)?;
    /// assert_eq!(client.peer_cred()?.pid, Some(std::process::id() as i32));
    /// std::fs::remove_file(&path)?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn connect(path: impl AsRef<Path>) -> io::Result<UnixStream> {
        UnixStream::connect_addr(&of_path("connect to", path.as_ref())?)
    }

    /// As [`connect`](Self::connect), to this address, which may be an abstract name.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn connect_addr(address: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connect_by(address, None)
    }

    /// As [`connect`](Self::connect), for so long at most.
    ///
    /// # Errors
    /// As [`connect`](Self::connect); `TimedOut`.
    pub fn connect_timeout(path: impl AsRef<Path>, timeout: Duration) -> io::Result<UnixStream> {
        UnixStream::connect_by(&of_path("connect to", path.as_ref())?, Some(time::now() + timeout))
    }

    fn connect_by(address: &SocketAddr, deadline: Option<Instant>) -> io::Result<UnixStream> {
        let connected = || {
            let (stream, to) = UnixStream::unconnected(address, deadline)?;
            stream.source.retry(|unix| Ok(connect(unix, &to)?))?;
            stream.source.set_deadline(true, None);
            Ok(stream)
        };
        connected().map_err(|reason| operation("connect to", text(address), reason))
    }

    /// [`connect`](Self::connect) as a future.
    ///
    /// # Cancellation
    /// Dropped before it is ready, the attempt is given up, and its socket closed.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_async(path: impl AsRef<Path>) -> io::Result<UnixStream> {
        let address = of_path("connect to", path.as_ref())?;
        UnixStream::connect_by_async(&address, None).await
    }

    /// [`connect_addr`](Self::connect_addr) as a future.
    ///
    /// # Cancellation
    /// As [`connect_async`](Self::connect_async).
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_addr_async(address: &SocketAddr) -> io::Result<UnixStream> {
        UnixStream::connect_by_async(address, None).await
    }

    /// [`connect_timeout`](Self::connect_timeout) as a future, whose time begins when it is first
    /// polled.
    ///
    /// # Cancellation
    /// As [`connect_async`](Self::connect_async).
    ///
    /// # Errors
    /// As [`connect_timeout`](Self::connect_timeout).
    pub async fn connect_timeout_async(path: impl AsRef<Path>, timeout: Duration) -> io::Result<UnixStream> {
        let address = of_path("connect to", path.as_ref())?;
        UnixStream::connect_by_async(&address, Some(time::now() + timeout)).await
    }

    async fn connect_by_async(address: &SocketAddr, deadline: Option<Instant>) -> io::Result<UnixStream> {
        let connected = async {
            let (stream, to) = UnixStream::unconnected(address, deadline)?;
            stream.source.retry_async(|unix| Ok(connect(unix, &to)?)).await?;
            stream.source.set_deadline(true, None);
            Ok(stream)
        };
        connected.await.map_err(|reason| operation("connect to", text(address), reason))
    }

    /// A socket that may connect to this address until then.
    fn unconnected(address: &SocketAddr, deadline: Option<Instant>) -> io::Result<(UnixStream, SocketAddrUnix)> {
        let to = to_system(address)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking().cloexec(), None)?;
        let stream = UnixStream::accepted(socket.into());
        stream.source.set_deadline(true, deadline);
        Ok((stream, to))
    }

    /// Two ends of a connection.
    ///
    /// # Errors
    /// Those of the system.
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        let (one, two) = net::UnixStream::pair()?;
        Ok((UnixStream::from_std(one)?, UnixStream::from_std(two)?))
    }

    /// A connection that a listener has accepted.
    pub(super) fn accepted(socket: OwnedFd) -> UnixStream {
        UnixStream { source: Source::new(socket.into(), None) }
    }

    /// Takes a connection of std's over, which does not block from now on: that is a property of
    /// the open socket, which all its descriptors share.
    ///
    /// # Errors
    /// Those of the system.
    pub fn from_std(stream: net::UnixStream) -> io::Result<UnixStream> {
        stream.set_nonblocking(true)?;
        Ok(UnixStream { source: Source::new(stream, None) })
    }

    /// Another handle of this connection: all that one of them does is true of both.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn try_clone(&self) -> io::Result<UnixStream> {
        Ok(UnixStream { source: self.source.clone() })
    }

    operations! {
        /// Reads some bytes. Returns how many: 0 at the end, or for an empty buffer. Descriptors
        /// that came with them are closed: see [`recv_with_fds`](Self::recv_with_fds).
        read, read_async: false "read from" (buffer: &mut [u8]) -> usize =
            |unix| unix.receive(buffer), unless buffer.is_empty() => 0;
        /// Reads some bytes into these buffers, one after the other. Returns how many.
        read_vectored, read_vectored_async: false "read from" (buffers: &mut [IoSliceMut<'_>]) -> usize =
            |unix| unix.receive_vectored(buffers),
            unless buffers.iter().all(|buffer| buffer.is_empty()) => 0;
        /// Reads some bytes, which the next read reads once more. Returns how many.
        peek, peek_async: false "peek from" (buffer: &mut [u8]) -> usize =
            |unix| receive(unix, buffer, RecvFlags::PEEK), unless buffer.is_empty() => 0;
        /// Reads some bytes, and the descriptors that were sent with the first of them: at most
        /// those of one [`send_with_fds`](Self::send_with_fds). 0 bytes: the end.
        recv_with_fds, recv_with_fds_async: false "receive from" (buffer: &mut [u8]) -> Received =
            |unix| fds::receive(unix, buffer);
        /// Writes some bytes. Returns how many.
        write, write_async: true "write to" (buffer: &[u8]) -> usize =
            |unix| unix.send(buffer), unless buffer.is_empty() => 0;
        /// Writes some bytes of these buffers, one after the other. Returns how many.
        write_vectored, write_vectored_async: true "write to" (buffers: &[IoSlice<'_>]) -> usize =
            |unix| unix.send_vectored(buffers), unless buffers.iter().all(|buffer| buffer.is_empty()) => 0;
        /// Writes some bytes, at least one, and these descriptors with the first of them: 253 at
        /// most. The other end has descriptors of its own for the same open files. Returns how many
        /// bytes: what is left goes without descriptors.
        ///
        /// # Examples
        /// ```
        /// use myriad::net::unix::UnixStream;
        /// use std::io::{Read, Write};
        /// use std::os::fd::AsFd;
        /// let (one, two) = UnixStream::pair()?;
        /// let (mut reader, mut writer) = std::io::pipe()?;
        /// one.send_with_fds(b"a pipe", &[writer.as_fd()])?;
        /// drop(writer);
        /// let received = two.recv_with_fds(&mut [0; 16])?;
        /// assert_eq!((received.len, received.fds.len()), (6, 1));
        /// writer = received.fds.into_iter().next().unwrap().into();
        /// writer.write_all(b"!")?;
        /// reader.read_exact(&mut [0])?;
        /// # std::io::Result::Ok(())
        /// ```
        send_with_fds, send_with_fds_async: true "send to" (bytes: &[u8], fds: &[BorrowedFd<'_>]) -> usize =
            |unix| fds::send(unix, bytes, fds, true);
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

    /// The peer's address, which most clients have none of.
    ///
    /// # Errors
    /// Those of the system: `NotConnected`, if the connection is over.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.source.socket().peer_addr()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.source.socket().local_addr()
    }

    /// Who made the other end, as it was then: by `connect`, `listen` or `pair`.
    ///
    /// # Errors
    /// Those of the system.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        let mut cred = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        let fd = self.as_raw_fd();
        // SAFETY: the descriptor is open, and the system writes `len` bytes at most of a structure
        // of numbers. (Rustix's call takes it for granted that the process has a number.)
        let result =
            unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut cred).cast(), &raw mut len) };
        if result != 0 {
            return Err(self.source.failed("ask for the peer of", io::Error::last_os_error()));
        }
        Ok(UCred { uid: cred.uid, gid: cred.gid, pid: Some(cred.pid).filter(|&pid| pid != 0) })
    }
}

impl source::Socket for net::UnixStream {
    fn failed(&self, what: &'static str, _: Option<std::net::SocketAddr>, reason: io::Error) -> io::Error {
        let addresses = [self.peer_addr(), self.local_addr()];
        operation(what, addresses.iter().flatten().find_map(text), reason)
    }
}

/// (A short read does not say that there is no more: it ends where descriptors were sent.)
impl Reads for net::UnixStream {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        receive(self, buffer, RecvFlags::empty())
    }

    fn receive_uninit(&self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<(usize, bool)> {
        let ((read, _), _) = recv(self, buffer, RecvFlags::empty())?;
        Ok((read.len(), true))
    }

    fn receive_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<(usize, bool)> {
        { self }.read_vectored(buffers).map(|n| (n, true))
    }
}

impl Writes for net::UnixStream {
    fn send(&self, buffer: &[u8]) -> io::Result<(usize, bool)> {
        // (No signal also in a process that has not switched it off.)
        Ok((send(self, buffer, SendFlags::NOSIGNAL)?, true))
    }

    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<(usize, bool)> {
        gather::send_vectored(self, buffers).map(|(n, _)| (n, true))
    }
}

fn receive(unix: &net::UnixStream, buffer: &mut [u8], flags: RecvFlags) -> io::Result<(usize, bool)> {
    Ok((recv(unix, buffer, flags)?.0, true))
}

socket!(UnixStream, net::UnixStream);
bytes!(UnixStream);
