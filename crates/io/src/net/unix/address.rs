//! Addresses of Unix sockets.

use crate::net::error::operation;
use rustix::net::{SocketAddrAny, SocketAddrUnix};
use std::io::{self, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::SocketAddr;
use std::path::Path;

/// The system's structure has room for so long a path, and the byte that ends it.
const LONGEST: usize = 107;

/// The address that is this path. `what` is to be done there.
pub(super) fn of_path(what: &'static str, path: &Path) -> io::Result<SocketAddr> {
    let len = path.as_os_str().as_bytes().len();
    let reason = if len > LONGEST {
        format!(
            "the path has {len} bytes, and that of a Unix socket has {LONGEST} at most: take one that is relative to \
             a directory nearby, or an abstract name"
        )
    } else if len == 0 {
        "the path is empty".to_owned()
    } else {
        return SocketAddr::from_pathname(path).map_err(|reason| operation(what, Some(path.display()), reason));
    };
    Err(operation(what, Some(path.display()), io::Error::new(ErrorKind::InvalidInput, reason)))
}

/// How errors show the address; `None`: it has no name.
pub(super) fn text(address: &SocketAddr) -> Option<String> {
    match address.as_pathname() {
        Some(path) => Some(path.display().to_string()),
        None => address.as_abstract_name().map(|name| format!("@{}", String::from_utf8_lossy(name))),
    }
}

/// The address as the system's calls take it.
pub(super) fn to_system(address: &SocketAddr) -> io::Result<SocketAddrUnix> {
    match (address.as_pathname(), address.as_abstract_name()) {
        (Some(path), _) => Ok(SocketAddrUnix::new(path)?),
        (None, Some(name)) => Ok(SocketAddrUnix::new_abstract_name(name)?),
        (None, None) => Err(io::Error::new(ErrorKind::InvalidInput, "the address has no name")),
    }
}

/// The address that a call of the system has found.
pub(super) fn from_system(address: SocketAddrAny) -> Option<SocketAddr> {
    let address = SocketAddrUnix::try_from(address).ok()?;
    match (address.path_bytes(), address.abstract_name()) {
        (Some(path), _) => SocketAddr::from_pathname(std::ffi::OsStr::from_bytes(path)).ok(),
        (None, Some(name)) => SocketAddr::from_abstract_name(name).ok(),
        (None, None) => SocketAddr::from_pathname("").ok(), // std's address without a name
    }
}
