//! Channels as the streams and sinks of the futures crates.

use super::error::SendError;
use super::future::{RecvFuture, SendFuture};
use super::{Receiver, Sender};
use futures_core::Stream;
use futures_sink::Sink;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Messages until the channel is closed and drained, as a stream: [`Receiver::stream`].
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct RecvStream<'a, T>(RecvFuture<'a, T>);

impl<T> Receiver<T> {
    /// A stream of messages, until the channel is closed and drained. It needs to be pinned.
    ///
    /// # Cancellation
    /// As of [`recv_async`](Self::recv_async): polled and then left alone, it stands in line.
    pub fn stream(&self) -> RecvStream<'_, T> {
        RecvStream(self.recv_async())
    }
}

impl<T> Stream for RecvStream<'_, T> {
    type Item = T;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: the field is pinned as the whole. (After it was ready it receives the next message.)
        let next = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        next.poll(cx).map(Result::ok)
    }
}

/// Sends what it is fed, as a sink: [`Sender::sink`].
#[must_use = "sinks do nothing unless polled"]
pub struct SendSink<'a, T> {
    sender: &'a Sender<T>,
    /// The message that waits for room, if one does.
    sending: Option<SendFuture<'a, T>>,
}

impl<T> Sender<T> {
    /// A sink that sends to this channel. Closing it waits until all that was fed is sent; the channel stays open.
    ///
    /// # Cancellation
    /// Dropped before it is flushed, it may drop the last message.
    pub fn sink(&self) -> SendSink<'_, T> {
        SendSink { sender: self, sending: None }
    }
}

impl<T> SendSink<'_, T> {
    /// Until nothing waits for room.
    fn poll_sent(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        // SAFETY: the future is not moved, only replaced where it stands.
        let sending = unsafe { &mut self.get_unchecked_mut().sending };
        let Some(future) = sending else { return Poll::Ready(Ok(())) };
        // SAFETY: pinned as the whole.
        let sent = unsafe { Pin::new_unchecked(future) }.poll(cx);
        if sent.is_ready() {
            *sending = None;
        }
        sent
    }
}

impl<T> Sink<T> for SendSink<'_, T> {
    type Error = SendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }

    /// # Panics
    /// If it is not ready.
    fn start_send(self: Pin<&mut Self>, value: T) -> Result<(), SendError<T>> {
        // SAFETY: there is no future in its place.
        let this = unsafe { self.get_unchecked_mut() };
        assert!(this.sending.is_none(), "a sink is fed before it is ready: call poll_ready first");
        this.sending = Some(this.sender.send_async(value));
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }
}

impl<T> fmt::Debug for SendSink<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendSink").field("sending", &self.sending.is_some()).finish_non_exhaustive()
    }
}
