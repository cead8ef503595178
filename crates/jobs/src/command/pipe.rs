//! Pipes of which the program has one end, and this process the other: reading never makes us wait.

use myriad_base::sys::clock;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// So much is read at a time: all that a pipe has, where nobody has changed its size.
pub(super) const PIECE: usize = 64 << 10;

/// The end to read from, and the one to write to. No program that is started meanwhile inherits
/// them.
pub(super) fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    // SAFETY: the file is open, and the call sets flags of it. (The other end has flags of its
    // own: a program that writes waits as usual.)
    match unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) } {
        0 => Ok((reader, writer)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What there was to read.
pub(super) enum Got {
    Bytes(usize),
    /// Nothing now.
    Nothing,
    /// Nothing any more: nobody has the other end.
    End,
}

pub(super) fn read(mut pipe: &PipeReader, piece: &mut [u8]) -> Got {
    loop {
        return match pipe.read(piece) {
            Ok(0) => Got::End,
            Ok(bytes) => Got::Bytes(bytes),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Got::Nothing,
            // (Such a pipe would be said to be readable again and again.)
            Err(_) => Got::End,
        };
    }
}

/// How many bytes are in it now.
pub(super) fn bytes_in(pipe: &PipeReader) -> usize {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the file is open, and the place is valid for writing, and of the type that the call
    // writes.
    let is_known = unsafe { libc::ioctl(pipe.as_raw_fd(), libc::FIONREAD, &raw mut bytes) } == 0;
    if is_known { bytes.max(0) as usize } else { PIECE }
}

/// What [`wait`] is to look at; `None` is never ready.
pub(super) fn entry(file: Option<BorrowedFd<'_>>) -> libc::pollfd {
    // (The system passes over negative numbers.)
    libc::pollfd { fd: file.map_or(-1, |file| file.as_raw_fd()), events: libc::POLLIN, revents: 0 }
}

/// Waits until one of them is ready, or for so long, or until a signal comes. Those that are ready
/// have marks (`revents`) then.
pub(super) fn wait(entries: &mut [libc::pollfd], most: Option<Duration>) {
    // (Rounded up: who waits for less than a millisecond is not to come again and again.)
    let millis = most.map_or(-1, |most| most.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as libc::c_int);
    // SAFETY: so many entries are valid, for the length of the call.
    let ready = unsafe { libc::poll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, millis) };
    if ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
        // (The system has no memory for that now, or the limit of files was lowered.)
        clock::sleep(most.unwrap_or(Duration::MAX).min(Duration::from_millis(5)));
    }
}
