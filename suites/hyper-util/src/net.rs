//! Sockets.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use myriad::hyper::Io;
use myriad::net::ToSocketAddrs;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A listener of Myriad.
#[derive(Debug)]
pub struct TcpListener(myriad::net::TcpListener);

impl TcpListener {
    /// See `myriad::net::TcpListener`.
    ///
    /// # Errors
    /// The system's.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<TcpListener> {
        Ok(TcpListener(myriad::net::TcpListener::bind(address)?))
    }

    /// Accepts one connection.
    ///
    /// # Errors
    /// The system's.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (stream, peer) = self.0.accept_async().await?;
        Ok((TcpStream::from(Io::new(stream)), peer))
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A stream of Myriad, by its own futures, and also by tokio's traits.
#[derive(Debug)]
pub struct TcpStream(Io<myriad::net::TcpStream>);

impl From<Io<myriad::net::TcpStream>> for TcpStream {
    fn from(io: Io<myriad::net::TcpStream>) -> TcpStream {
        TcpStream(io)
    }
}

impl TcpStream {
    /// Connects.
    ///
    /// # Errors
    /// Those of `myriad::net::TcpStream::connect`.
    pub async fn connect(address: impl ToSocketAddrs) -> io::Result<TcpStream> {
        Ok(TcpStream(Io::new(myriad::net::TcpStream::connect_async(address).await?)))
    }

    /// Myriad's stream.
    pub fn stream(&self) -> &myriad::net::TcpStream {
        self.0.get_ref()
    }

    /// Reads some bytes.
    ///
    /// # Errors
    /// The system's.
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream().read_async(buffer).await
    }

    /// Fills the buffer.
    ///
    /// # Errors
    /// The system's, and an end before.
    pub async fn read_exact(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream().read_exact_async(buffer).await?;
        Ok(buffer.len())
    }

    /// Writes all.
    ///
    /// # Errors
    /// The system's.
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream().write_all_async(bytes).await
    }

    /// By way of hyper's traits, which `Io` has.
    fn adapted(&mut self) -> TokioIo<&mut Io<myriad::net::TcpStream>> {
        TokioIo::new(&mut self.0)
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.adapted()).poll_read(cx, buffer)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.adapted()).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.adapted()).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.adapted()).poll_shutdown(cx)
    }
}

/// Myriad's `Io` in the place of hyper-util's `TokioIo`, for sockets.
#[derive(Debug)]
pub struct SocketIo(TcpStream);

impl SocketIo {
    /// This stream.
    pub fn new(stream: TcpStream) -> SocketIo {
        SocketIo(stream)
    }

    /// The stream.
    pub fn inner_mut(&mut self) -> &mut TcpStream {
        &mut self.0
    }

    /// The stream.
    pub fn into_inner(self) -> TcpStream {
        self.0
    }

    fn io(self: Pin<&mut Self>) -> Pin<&mut Io<myriad::net::TcpStream>> {
        Pin::new(&mut self.get_mut().0.0)
    }
}

impl Read for SocketIo {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        self.io().poll_read(cx, buffer)
    }
}

impl Write for SocketIo {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.io().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.0.is_write_vectored()
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write_vectored(cx, buffers)
    }
}

impl Connection for SocketIo {
    fn connected(&self) -> Connected {
        self.0.0.connected()
    }
}
