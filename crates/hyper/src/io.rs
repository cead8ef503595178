//! hyper's traits for streams.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use myriad_io::io::{PollRead, PollWrite, Polled};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A stream of Myriad ([`TcpStream`](myriad_io::net::TcpStream),
/// [`UnixStream`](myriad_io::net::unix::UnixStream)) for hyper.
///
/// Its limits in time (`set_read_timeout` and its kind) count here, too.
///
/// # Examples
/// ```
/// use http_body_util::{BodyExt, Empty};
/// use hyper::body::Bytes;
/// use hyper::{Request, client::conn::http1};
/// use myriad::hyper::Io;
/// use myriad::net::unix::UnixStream;
/// let (one, two) = UnixStream::pair()?;
/// myriad::spawn(move || {
///     let mut request = [0; 100];
///     two.read(&mut request)?;
///     two.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
/// });
/// let text = myriad::block_on(async {
///     let (mut sender, connection) = http1::handshake(Io::new(one)).await?;
///     let connection = myriad::spawn_async(connection);
///     let answer = sender.send_request(Request::get("/").body(Empty::<Bytes>::new()).unwrap()).await?;
///     let text = answer.into_body().collect().await?.to_bytes();
///     drop(sender);
///     connection.await.unwrap()?;
///     Ok::<_, hyper::Error>(text)
/// })
/// .unwrap();
/// assert_eq!(text, "hi");
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug)]
pub struct Io<S>(Polled<S>);

impl<S> Io<S> {
    /// This stream. Allocates.
    pub fn new(stream: S) -> Io<S> {
        Io(Polled::new(stream))
    }

    /// The stream.
    pub fn get_ref(&self) -> &S {
        self.0.get_ref()
    }

    /// The stream.
    ///
    /// # Examples
    /// ```
    /// use myriad::hyper::Io;
    /// use myriad::net::unix::UnixStream;
    /// let (one, two) = UnixStream::pair()?;
    /// let one = Io::new(one).into_inner();
    /// one.write(b"hi")?;
    /// let mut bytes = [0; 2];
    /// assert_eq!((two.read(&mut bytes)?, &bytes), (2, b"hi"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn into_inner(self) -> S {
        self.0.into_inner()
    }
}

impl<S: PollRead + Unpin> Read for Io<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        // SAFETY: a read writes into the buffer, and takes nothing back.
        let room = unsafe { buffer.as_mut() };
        self.get_mut().0.poll_read_uninit(cx, room).map_ok(|n| {
            // SAFETY: so many bytes were written: `Polled::poll_read_uninit` says so.
            unsafe { buffer.advance(n) }
        })
    }
}

impl<S: PollWrite + Unpin> Write for Io<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().0.poll_write(cx, bytes)
    }

    /// What is written is the system's at once.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().0.poll_close(cx)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().0.poll_write_vectored(cx, buffers)
    }
}

/// For connections of hyper's client.
impl<S: PollRead + PollWrite + Unpin> Connection for Io<S> {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}
