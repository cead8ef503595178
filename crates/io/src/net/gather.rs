//! Sends of several buffers at once.

use rustix::net::{SendFlags, send};
use socket2::SockRef;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;

/// So many bytes are copied together, and sent as one: that takes less time than the system needs
/// to look at several buffers. (An answer over HTTP is a head and a body, most often short both. So
/// much it takes of the caller's stack.)
const SHORT: usize = 512;

/// So many buffers Linux takes in one call. (More are an error of the system's.)
const MOST: usize = libc::UIO_MAXIOV as usize;

/// How many bytes were sent, and whether these were all.
pub(super) fn send_vectored(socket: &impl AsFd, buffers: &[IoSlice<'_>]) -> io::Result<(usize, bool)> {
    let buffers = &buffers[..buffers.len().min(MOST)];
    let len = buffers.iter().map(|buffer| buffer.len()).sum();
    let n = if len <= SHORT {
        let (mut together, mut at) = ([0; SHORT], 0);
        for buffer in buffers {
            together[at..at + buffer.len()].copy_from_slice(buffer);
            at += buffer.len();
        }
        // (No signal also in a process that has not switched it off.)
        send(socket, &together[..len], SendFlags::NOSIGNAL)?
    } else {
        SockRef::from(socket).send_vectored_with_flags(buffers, libc::MSG_NOSIGNAL)?
    };
    Ok((n, n == len))
}
