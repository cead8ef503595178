//! The address of a socket, for a dump.

use rustix::net::{SocketAddrAny, SocketAddrUnix, getpeername, getsockname};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// That of the peer, or else its own. `None`: it has none, or it is no socket.
pub(crate) fn name(socket: BorrowedFd<'_>) -> Option<String> {
    [getpeername(socket).ok().flatten(), getsockname(socket).ok()].into_iter().flatten().find_map(text)
}

fn text(address: SocketAddrAny) -> Option<String> {
    if let Ok(address) = SocketAddr::try_from(address.clone()) {
        return Some(address.to_string());
    }
    let address = SocketAddrUnix::try_from(address).ok()?;
    match (address.path_bytes(), address.abstract_name()) {
        (Some(path), _) if !path.is_empty() => Some(String::from_utf8_lossy(path).into_owned()),
        (_, Some(name)) if !name.is_empty() => Some(format!("@{}", name.escape_ascii())),
        _ => None,
    }
}
