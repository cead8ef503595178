//! Messages that carry descriptors.

use super::SocketAddr;
use super::address::from_system;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A message takes so many descriptors at most (`SCM_MAX_FD`).
const MOST: usize = 253;

/// What was received: some bytes, and the descriptors that came with them. Example:
/// [`UnixStream::send_with_fds`](super::UnixStream::send_with_fds).
#[derive(Debug)]
#[non_exhaustive]
pub struct Received {
    /// So many bytes are in the buffer.
    pub len: usize,
    /// The descriptors, which are the caller's, and closed in programs that it executes.
    pub fds: Vec<OwnedFd>,
    /// There were more descriptors, which are lost: this process may have no more open (`EMFILE`).
    pub fds_lost: bool,
    /// Of a datagram: it was longer than the buffer, and the rest is lost.
    pub truncated: bool,
    /// Of a datagram: who has sent it, if that socket has a name.
    pub from: Option<SocketAddr>,
}

/// Sends these bytes with these descriptors. `stream`: there must be a byte for them to go with.
pub(super) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>], stream: bool) -> io::Result<(usize, bool)> {
    let wrong = |text: String| Err(io::Error::new(ErrorKind::InvalidInput, text));
    if fds.len() > MOST {
        return wrong(format!("{} descriptors: a message takes {MOST} at most", fds.len()));
    }
    if stream && bytes.is_empty() && !fds.is_empty() {
        return wrong("descriptors on a stream go with a byte at least, and there is none".to_owned());
    }
    let message = SendAncillaryMessage::ScmRights(fds);
    // (From the heap: a fiber's stack is small.)
    let mut room = vec![MaybeUninit::uninit(); if fds.is_empty() { 0 } else { message.size() }];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if !fds.is_empty() {
        assert!(control.push(message), "the room is for this message");
    }
    Ok((sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?, true))
}

/// Receives some bytes, and the descriptors that come with them.
pub(super) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(Received, bool)> {
    let mut room = vec![MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut room);
    let message = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(more) = message {
            fds.extend(more);
        }
    }
    let received = Received {
        len: message.bytes,
        fds,
        fds_lost: message.flags.contains(ReturnFlags::CTRUNC),
        truncated: message.flags.contains(ReturnFlags::TRUNC),
        from: message.address.and_then(from_system).filter(|from| !from.is_unnamed()),
    };
    Ok((received, true))
}
