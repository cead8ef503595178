//! Who accepts connections over Unix sockets.

use super::SocketAddr;
use super::address::{from_system, of_path, text};
use super::stream::UnixStream;
use crate::net::error::operation;
use crate::net::macros::{limits, operations, socket};
use crate::net::serve::accepts;
use crate::source::{Socket, Source};
use rustix::net::{SocketFlags, acceptfrom_with};
use std::io;
use std::os::unix::net;
use std::path::Path;

/// A path or a name at which connections over Unix sockets are accepted.
///
/// See [`net`](crate::net) for what all sockets have in common.
///
/// # Examples
/// ```
/// use myriad::net::unix::{SocketAddr, SocketAddrExt, UnixListener, UnixStream};
/// use std::io::{Read, Write};
/// let name = SocketAddr::from_abstract_name(format!("myriad-listener-{}", std::process::id()))?;
/// let listener = UnixListener::bind_addr(&name)?;
/// let port = listener.try_clone()?;
/// // A task for each client, and at most a hundred at a time.
/// let server = myriad::spawn(move || listener.serve(100, |stream| _ = (&stream).write_all(b"hello")));
/// let mut text = String::new();
/// UnixStream::connect_addr(&name)?.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// port.close();
/// server.join().unwrap()?; // its connections have ended
/// # std::io::Result::Ok(())
/// ```
/// Of a path, as std's, with a limit:
/// ```
/// use myriad::net::unix::UnixListener;
/// use std::time::Duration;
/// let path = std::env::temp_dir().join(format!("myriad-listener-{}", std::process::id()));
/// drop(UnixListener::bind(&path)?);
/// std::fs::remove_file(&path)?; // it stays, else
/// let listener = UnixListener::from_std(std::os::unix::net::UnixListener::bind(&path)?)?;
/// listener.set_accept_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::TimedOut);
/// std::fs::remove_file(&path)?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct UnixListener {
    source: Source<net::UnixListener>,
}

impl UnixListener {
    /// Makes a socket at this path, and listens there. The path stays when the listener goes:
    /// remove it then, or before.
    ///
    /// # Errors
    /// `AddrInUse`: there is something at the path, perhaps the socket of a process that has ended;
    /// `InvalidInput`: the path is too long.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<UnixListener> {
        UnixListener::bind_addr(&of_path("listen at", path.as_ref())?)
    }

    /// As [`bind`](Self::bind), at this address, which may be an abstract name.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    pub fn bind_addr(address: &SocketAddr) -> io::Result<UnixListener> {
        let bound = net::UnixListener::bind_addr(address).and_then(UnixListener::from_std);
        bound.map_err(|reason| operation("listen at", text(address), reason))
    }

    /// Takes a listener of std's over, which does not block from now on.
    ///
    /// # Errors
    /// Those of the system.
    pub fn from_std(listener: net::UnixListener) -> io::Result<UnixListener> {
        listener.set_nonblocking(true)?;
        Ok(UnixListener { source: Source::new(listener, None) })
    }

    /// Another handle of this listener.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn try_clone(&self) -> io::Result<UnixListener> {
        Ok(UnixListener { source: self.source.clone() })
    }

    operations! {
        /// Accepts the connection that has waited longest.
        accept, accept_async: false "accept at" () -> (UnixStream, SocketAddr) = |listener| accept(listener);
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
}

impl Socket for net::UnixListener {
    fn failed(&self, what: &'static str, _: Option<std::net::SocketAddr>, reason: io::Error) -> io::Error {
        operation(what, self.local_addr().ok().as_ref().and_then(text), reason)
    }
}

fn accept(listener: &net::UnixListener) -> io::Result<((UnixStream, SocketAddr), bool)> {
    let (socket, peer) = acceptfrom_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    let stream = UnixStream::accepted(socket);
    let peer = peer.and_then(from_system).map_or_else(|| stream.peer_addr(), Ok)?;
    Ok(((stream, peer), true))
}

socket!(UnixListener, net::UnixListener);
accepts!(UnixListener, UnixStream);
