//! Anonymous pipes.

use crate::net::error::operation;
use crate::net::macros::{limits, operations, reads, writes};
use crate::source::{Reads, Socket, Source, Writes};
use rustix::pipe::{PipeFlags, pipe_with};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// A pipe: what is written to the second is read from the first. Both ends are closed in programs
/// that this one executes.
///
/// For a pipe to or from a child process, take [`std::io::pipe`], give the child its end, and take
/// the other one over by `from_std`: each end has its own mode of blocking.
///
/// # Errors
/// Those of the system: the process has too many descriptors.
///
/// # Examples
/// ```
/// use std::io::{Read, Write};
/// let (mut reader, mut writer) = myriad::io::pipe()?;
/// let task = myriad::spawn(move || writer.write_all(b"hello")); // and the end of it
/// let mut text = String::new();
/// reader.read_to_string(&mut text)?;
/// assert_eq!(text, "hello");
/// task.join().unwrap()?;
/// # std::io::Result::Ok(())
/// ```
/// With a child process:
/// ```
/// use myriad::io::PipeReader;
/// use std::io::Read;
/// use std::process::Command;
/// let (reader, writer) = std::io::pipe()?;
/// let mut child = Command::new("echo").arg("hello").stdout(writer).spawn()?;
/// let mut text = String::new();
/// PipeReader::from_std(reader)?.read_to_string(&mut text)?; // the task waits, its worker does not
/// assert_eq!(text, "hello\n");
/// child.wait()?;
/// # std::io::Result::Ok(())
/// ```
/// Operations of the ends, which take `&self`, and limits:
/// ```
/// use std::io::{ErrorKind, IoSlice, IoSliceMut};
/// use std::time::Duration;
/// let (reader, writer) = myriad::io::pipe()?;
/// writer.set_write_timeout(Some(Duration::from_secs(10)))?;
/// assert_eq!(writer.write(b"head")?, 4);
/// assert_eq!(writer.write_vectored(&[IoSlice::new(b"er"), IoSlice::new(b", text")])?, 8);
/// let (mut head, mut text) = ([0; 4], [0; 4]);
/// assert_eq!(reader.read(&mut head)?, 4);
/// assert_eq!(reader.read_vectored(&mut [IoSliceMut::new(&mut head), IoSliceMut::new(&mut text)])?, 8);
/// reader.set_read_timeout(Some(Duration::from_millis(1)))?;
/// assert_eq!(reader.read(&mut text).unwrap_err().kind(), ErrorKind::TimedOut);
/// reader.set_read_timeout(None)?;
/// writer.write(b"more, and the end")?;
/// writer.close(); // for all of its handles, but the end is seen when they are gone
/// drop(writer);
/// let mut rest = Vec::new();
/// myriad::block_on(async {
///     reader.read_exact_async(&mut head).await?;
///     reader.read_to_end_async(&mut rest).await
/// })?;
/// assert_eq!(rest, b", and the end");
/// reader.close();
/// # std::io::Result::Ok(())
/// ```
pub fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((PipeReader { source: Source::new(reader, None) }, PipeWriter { source: Source::new(writer, None) }))
}

/// That does not block from now on.
fn end(fd: OwnedFd) -> io::Result<Source<OwnedFd>> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    Ok(Source::new(fd, None))
}

impl Socket for OwnedFd {
    fn failed(&self, what: &'static str, _: Option<SocketAddr>, reason: io::Error) -> io::Error {
        operation(what, Some("a pipe"), reason)
    }
}

impl Reads for OwnedFd {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
        Ok((rustix::io::read(self, buffer)?, true))
    }

    fn receive_uninit(&self, buffer: &mut [MaybeUninit<u8>]) -> io::Result<(usize, bool)> {
        Ok((rustix::io::read(self, buffer)?.0.len(), true))
    }

    fn receive_vectored(&self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<(usize, bool)> {
        Ok((rustix::io::readv(self, buffers)?, true))
    }
}

impl Writes for OwnedFd {
    fn send(&self, bytes: &[u8]) -> io::Result<(usize, bool)> {
        Ok((rustix::io::write(self, bytes)?, true))
    }

    fn send_vectored(&self, buffers: &[IoSlice<'_>]) -> io::Result<(usize, bool)> {
        Ok((rustix::io::writev(self, buffers)?, true))
    }
}

/// The end of a pipe that is read from. Example: [`pipe`].
#[derive(Debug)]
pub struct PipeReader {
    source: Source<OwnedFd>,
}

/// The end of a pipe that is written to. Example: [`pipe`].
#[derive(Debug)]
pub struct PipeWriter {
    source: Source<OwnedFd>,
}

macro_rules! end {
    ($type:ident) => {
        impl $type {
            /// Takes an end of std's over, which does not block from now on.
            ///
            /// # Errors
            /// Those of the system.
            pub fn from_std(end: io::$type) -> io::Result<$type> {
                Ok($type { source: self::end(end.into())? })
            }

            /// Another handle of this end.
            ///
            /// # Errors
            /// None; a `Result` as in std.
            pub fn try_clone(&self) -> io::Result<$type> {
                Ok($type { source: self.source.clone() })
            }

            /// Ends all operations of this end, of all its handles, also those that wait: they fail
            /// with `NotConnected`. Never blocks. The descriptor is closed with the last handle.
            pub fn close(&self) {
                self.source.close();
            }
        }

        impl AsFd for $type {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.source.as_fd()
            }
        }

        impl AsRawFd for $type {
            fn as_raw_fd(&self) -> RawFd {
                self.source.as_fd().as_raw_fd()
            }
        }

        /// Takes the end over: as `from_std`.
        impl TryFrom<io::$type> for $type {
            type Error = io::Error;
            fn try_from(end: io::$type) -> io::Result<$type> {
                $type::from_std(end)
            }
        }
    };
}

end!(PipeReader);
end!(PipeWriter);
reads!(PipeReader);
writes!(PipeWriter);

impl PipeReader {
    operations! {
        /// Reads some bytes. Returns how many: 0 when all writers are gone, or for an empty buffer.
        read, read_async: false "read from" (buffer: &mut [u8]) -> usize =
            |end| end.receive(buffer), unless buffer.is_empty() => 0;
        /// Reads some bytes into these buffers, one after the other. Returns how many.
        read_vectored, read_vectored_async: false "read from" (buffers: &mut [IoSliceMut<'_>]) -> usize =
            |end| end.receive_vectored(buffers), unless buffers.iter().all(|b| b.is_empty()) => 0;
    }

    limits! {
        false read_timeout set_read_timeout set_read_deadline;
    }
}

impl PipeWriter {
    fn end_output(&self) -> io::Result<()> {
        Ok(())
    }

    operations! {
        /// Writes some bytes. Returns how many. `BrokenPipe`: all readers are gone; a program that
        /// is not Rust's, and has not switched the signal SIGPIPE off, ends there.
        write, write_async: true "write to" (buffer: &[u8]) -> usize =
            |end| end.send(buffer), unless buffer.is_empty() => 0;
        /// Writes some bytes of these buffers, one after the other. Returns how many.
        write_vectored, write_vectored_async: true "write to" (buffers: &[IoSlice<'_>]) -> usize =
            |end| end.send_vectored(buffers), unless buffers.iter().all(|b| b.is_empty()) => 0;
    }

    limits! {
        true write_timeout set_write_timeout set_write_deadline;
    }
}
