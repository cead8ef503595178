//! A body for code that blocks.

use bytes::{Buf, Bytes};
use hyper::body::{Body, Incoming};
use std::future::poll_fn;
use std::io::{self, BufRead, Read};
use std::pin::Pin;

/// A body for [`std::io::Read`], and lines of it for [`BufRead`].
///
/// # Blocking
/// Until the next piece comes. The calling task is set aside meanwhile.
///
/// # Cancellation
/// As each wait; what has not been read comes with the next read.
///
/// # Errors
/// hyper's, as `Other`: the peer has gone before the end, for example. Trailers are passed over.
///
/// Example: [`handler`](super::handler()).
#[derive(Debug)]
pub struct BodyReader<B = Incoming> {
    body: B,
    piece: Bytes,
}

impl<B> BodyReader<B> {
    /// Reads this body.
    pub fn new(body: B) -> BodyReader<B> {
        BodyReader { body, piece: Bytes::new() }
    }
}

impl<B> BufRead for BodyReader<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.piece.is_empty() {
            let body = &mut self.body;
            match myriad_core::block_on(poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx))) {
                None => break,
                Some(Err(error)) => return Err(io::Error::other(error)),
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_default(),
            }
        }
        Ok(&self.piece)
    }

    fn consume(&mut self, n: usize) {
        self.piece.advance(n);
    }
}

impl<B> Read for BodyReader<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}
