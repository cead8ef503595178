//! What consists of many reads, or of many writes.

use super::{Operation, Socket, Source};
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::{MaybeUninit, take};

/// What can be read from.
pub(crate) trait Reads: Socket {
    /// How many bytes, and whether there may be more.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)>;

    /// The same, into memory that need not be written before: so many bytes at its begin are, then.
    fn receive_uninit(&self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<(usize, bool)>;

    /// The same, into these buffers, one after the other.
    fn receive_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<(usize, bool)>;
}

/// What can be written to.
pub(crate) trait Writes: Socket {
    /// How many bytes, and whether there may be room for more.
    fn send(&self, bytes: &[u8]) -> io::Result<(usize, bool)>;

    /// The same, of these buffers, one after the other.
    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<(usize, bool)>;
}

impl<S: Reads> Source<S> {
    /// Fills the buffer.
    pub(crate) fn read_exact(&self, mut buffer: &mut [u8]) -> impl Future<Output = io::Result<()>> {
        let nothing = buffer.is_empty();
        Operation::<false, _, _>::new(self, &"read from", nothing, move |socket| {
            if buffer.is_empty() {
                return Ok((Some(()), false));
            }
            let (n, more) = socket.receive(buffer)?;
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut take(&mut buffer)[n..];
            Ok((buffer.is_empty().then_some(()), more))
        })
    }
}

impl<S: Writes> Source<S> {
    /// Writes all of these bytes.
    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> impl Future<Output = io::Result<()>> {
        let nothing = bytes.is_empty();
        Operation::<true, _, _>::new(self, &"write to", nothing, move |socket| {
            if bytes.is_empty() {
                return Ok((Some(()), false));
            }
            let (n, more) = socket.send(bytes)?;
            if n == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            bytes = &bytes[n..];
            Ok((bytes.is_empty().then_some(()), more))
        })
    }
}
