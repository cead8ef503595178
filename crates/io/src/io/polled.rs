//! A stream that is polled: for the traits of other crates.

use crate::source::Attempts;
use myriad_core::time::Instant;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A stream that can be read from by polls.
#[doc(hidden)]
pub trait PollRead: Sized {
    /// Reads some bytes: so many at the begin of the buffer are written then.
    fn poll_read_some(
        &self,
        attempts: Pin<&mut Attempts<false>>,
        cx: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>>;

    fn poll_read_vectored_some(
        &self,
        attempts: Pin<&mut Attempts<false>>,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>>;

    /// As the stream's `set_read_deadline`.
    fn read_until(&self, deadline: Option<Instant>);

    /// Another handle of the stream.
    fn another(&self) -> Self;
}

/// A stream that can be written to by polls.
#[doc(hidden)]
pub trait PollWrite {
    fn poll_write_some(
        &self,
        attempts: Pin<&mut Attempts<true>>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>>;

    fn poll_write_vectored_some(
        &self,
        attempts: Pin<&mut Attempts<true>>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>>;

    /// There is no more output.
    fn end_output(&self) -> io::Result<()>;
}

/// A stream ([`TcpStream`](crate::net::TcpStream), [`UnixStream`](crate::net::unix::UnixStream), an
/// end of a [pipe](super::pipe())) with methods that poll, and what waits between two polls.
///
/// For code that is written for the traits of other crates: with the feature `futures-io` it has
/// `AsyncRead` and `AsyncWrite` of that crate, and with the feature `hyper` the wrapper
/// `myriad::hyper::Io` those of hyper. Elsewhere the methods of the stream itself
/// ([`read_async`](crate::net::TcpStream::read_async)) do without a box for each stream.
///
/// One that was polled has its waker called once, when there may be input (or room). A second task
/// that reads from the same connection takes a handle of its own
/// ([`try_clone`](crate::net::TcpStream::try_clone)), and neither is forgotten, also if one of them
/// gives up and is not polled any more.
///
/// # Cancellation
/// A poll that is pending has moved no byte. Whoever gives up between two polls loses nothing.
///
/// # Errors
/// Those of the stream's own methods, also its limits in time. A time-out counts from the first
/// poll that was pending, also if whoever polled has given up and another one reads: nobody tells.
///
/// # Examples
/// ```
/// use myriad::io::Polled;
/// use myriad::net::unix::UnixStream;
/// use std::future::poll_fn;
/// let (one, two) = UnixStream::pair()?;
/// let (mut one, mut two) = (Polled::new(one), Polled::new(two));
/// let n = myriad::block_on(poll_fn(|cx| one.poll_write(cx, b"hello")))?;
/// let mut bytes = [0; 16];
/// assert_eq!(myriad::block_on(poll_fn(|cx| two.poll_read(cx, &mut bytes)))?, n);
/// one.poll_close(&mut std::task::Context::from_waker(std::task::Waker::noop())).map(Result::unwrap).is_ready();
/// let two = two.into_inner();
/// assert_eq!(two.read(&mut bytes)?, 0, "the end");
/// # std::io::Result::Ok(())
/// ```
pub struct Polled<S> {
    /// Dropped first: the last handle of a socket finds nobody who waits.
    waits: Pin<Box<Waits>>,
    stream: S,
}

struct Waits {
    read: Attempts<false>,
    write: Attempts<true>,
}

impl Waits {
    fn read(self: Pin<&mut Self>) -> Pin<&mut Attempts<false>> {
        // SAFETY: both parts are pinned with the whole.
        unsafe { self.map_unchecked_mut(|waits| &mut waits.read) }
    }

    fn write(self: Pin<&mut Self>) -> Pin<&mut Attempts<true>> {
        // SAFETY: both parts are pinned with the whole.
        unsafe { self.map_unchecked_mut(|waits| &mut waits.write) }
    }
}

impl<S> Polled<S> {
    /// This stream. Allocates.
    pub fn new(stream: S) -> Polled<S> {
        Polled { stream, waits: Box::pin(Waits { read: Attempts::new(false), write: Attempts::new(false) }) }
    }

    /// The stream.
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream. What waited is given up.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: PollRead> Polled<S> {
    /// Reads some bytes. How many: 0 at the end, or for an empty buffer. Pending: the waker is
    /// called when there may be some.
    ///
    /// # Errors
    /// As the stream's own `read`.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        self.poll_read_vectored(cx, &mut [IoSliceMut::new(buffer)])
    }

    /// As [`poll_read`](Self::poll_read), into memory that need not be written before: so many
    /// bytes at its begin are, then.
    ///
    /// # Errors
    /// As the stream's own `read`.
    pub fn poll_read_uninit(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut [MaybeUninit<u8>],
    ) -> Poll<io::Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.stream.poll_read_some(self.waits.as_mut().read(), cx, buffer)
    }

    /// As [`poll_read`](Self::poll_read), into these buffers, one after the other.
    ///
    /// # Errors
    /// As the stream's own `read_vectored`.
    pub fn poll_read_vectored(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
    ) -> Poll<io::Result<usize>> {
        if buffers.iter().all(|buffer| buffer.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        self.stream.poll_read_vectored_some(self.waits.as_mut().read(), cx, buffers)
    }
}

impl<S: PollWrite> Polled<S> {
    /// Writes some bytes. How many. Pending: the waker is called when there may be room.
    ///
    /// # Errors
    /// As the stream's own `write`.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        self.stream.poll_write_some(self.waits.as_mut().write(), cx, bytes)
    }

    /// As [`poll_write`](Self::poll_write), of these buffers, one after the other.
    ///
    /// # Errors
    /// As the stream's own `write_vectored`.
    pub fn poll_write_vectored(&mut self, cx: &mut Context<'_>, buffers: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if buffers.iter().all(|buffer| buffer.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        self.stream.poll_write_vectored_some(self.waits.as_mut().write(), cx, buffers)
    }

    /// Ends the output: the peer reads the end after what was written. (Of a pipe nothing happens:
    /// its end comes when the writer is dropped.) Never pending.
    ///
    /// # Errors
    /// Those of the system. That the connection is over is none.
    pub fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.end_output())
    }
}

impl<S: fmt::Debug> fmt::Debug for Polled<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Polled").field(&self.stream).finish()
    }
}
