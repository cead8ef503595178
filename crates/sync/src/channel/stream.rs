//! Channels as the streams and sinks of the futures crates: borrowing an end, or owning it.
//!
//! ```text
//!  Receiver::stream        RecvStream  borrows, no memory, is pinned by its user
//!  Receiver::into_stream   IntoStream  owns, `Unpin`, one allocation: what goes into a struct, a task, a combinator
//!  Sender::sink            SendSink    as the streams
//!  Sender::into_sink       IntoSink
//! ```
//! What stands in line ([`Receiving`], [`Sending`]) must not move. In the owning forms it has a
//! box, so that they may: nearly all combinators (`next`, `send`, `select`) ask for that.

use super::error::SendError;
use super::future::{Receiving, Sending};
use super::{Receiver, Sender};
use futures_core::Stream;
use futures_sink::Sink;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Messages until the channel is closed and drained, as a stream: [`Receiver::stream`].
#[must_use = "streams do nothing unless polled"]
pub struct RecvStream<'a, T> {
    receiver: &'a Receiver<T>,
    receiving: Receiving<T>,
}

/// Messages until the channel is closed and drained, as a stream that owns its receiver:
/// [`Receiver::into_stream`].
#[must_use = "streams do nothing unless polled"]
pub struct IntoStream<T> {
    receiver: Receiver<T>,
    receiving: Pin<Box<Receiving<T>>>,
}

impl<T> Receiver<T> {
    /// A stream of messages, until the channel is closed and drained. It needs to be pinned.
    ///
    /// # Cancellation
    /// As of [`recv_async`](Self::recv_async): polled and then left alone, it stands in line, and
    /// what is handed to it there nobody else gets. Dropped, it gives that to the next. So a stream
    /// that has ended may bring a message when it is polled again: one that another stream, or
    /// future, had been handed and gave back.
    pub fn stream(&self) -> RecvStream<'_, T> {
        RecvStream { receiver: self, receiving: Receiving::new() }
    }

    /// A stream of messages that owns this receiver. It need not be pinned, for one allocation.
    /// Dropped, it drops the receiver, which closes the channel if it was the last.
    ///
    /// # Cancellation
    /// As of [`stream`](Self::stream).
    ///
    /// # Examples
    /// ```
    /// use futures_util::StreamExt;
    /// let (tx, rx) = myriad::channel::bounded(2);
    /// myriad::spawn(move || (1..=10).for_each(|n| tx.send(n).unwrap()));
    /// let even = rx.into_stream().filter(|n| std::future::ready(n % 2 == 0));
    /// assert_eq!(myriad::block_on(even.collect::<Vec<_>>()), [2, 4, 6, 8, 10]);
    /// ```
    pub fn into_stream(self) -> IntoStream<T> {
        IntoStream { receiver: self, receiving: Box::pin(Receiving::new()) }
    }
}

impl<T> IntoStream<T> {
    /// The receiver: to close the channel, to ask what is there, to clone it.
    pub fn receiver(&self) -> &Receiver<T> {
        &self.receiver
    }
}

impl<T> Stream for RecvStream<'_, T> {
    type Item = T;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        // SAFETY: the part is pinned as the whole; its channel is that of our receiver.
        let received = unsafe {
            let this = self.get_unchecked_mut();
            Pin::new_unchecked(&mut this.receiving).poll(this.receiver.chan(), cx)
        };
        received.map(Result::ok)
    }
}

impl<T> Stream for IntoStream<T> {
    type Item = T;
    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let this = &mut *self;
        // SAFETY: its channel is that of our receiver.
        unsafe { this.receiving.as_mut().poll(this.receiver.chan(), cx) }.map(Result::ok)
    }
}

impl<T> Drop for RecvStream<'_, T> {
    fn drop(&mut self) {
        // SAFETY: its channel is that of our receiver.
        unsafe { self.receiving.give_up(self.receiver.chan()) };
    }
}

impl<T> Drop for IntoStream<T> {
    fn drop(&mut self) {
        // SAFETY: its channel is that of our receiver, which goes after this. Nothing is moved out
        // of its pin.
        unsafe { self.receiving.as_mut().get_unchecked_mut().give_up(self.receiver.chan()) };
    }
}

/// Sends what it is fed, as a sink: [`Sender::sink`].
#[must_use = "sinks do nothing unless polled"]
pub struct SendSink<'a, T> {
    sender: &'a Sender<T>,
    /// With the message that waits for room, if one does.
    sending: Sending<T>,
}

/// Sends what it is fed, as a sink that owns its sender: [`Sender::into_sink`].
#[must_use = "sinks do nothing unless polled"]
pub struct IntoSink<T> {
    /// Until it is closed. It goes before what may stand in line, which is empty then.
    sender: Option<Sender<T>>,
    sending: Pin<Box<Sending<T>>>,
}

impl<T> Sender<T> {
    /// A sink that sends to this channel, and holds one message more than that, until it is
    /// flushed. It needs to be pinned. Closing it waits until all that was fed is sent; the channel
    /// stays open.
    ///
    /// # Errors
    /// The channel is closed: the message that could not be sent comes back, from the next
    /// operation.
    ///
    /// # Cancellation
    /// Dropped before it is flushed, it may drop the last message.
    pub fn sink(&self) -> SendSink<'_, T> {
        SendSink { sender: self, sending: Sending::empty() }
    }

    /// A sink that owns this sender. It need not be pinned, for one allocation. Closing it waits
    /// until all that was fed is sent, and then drops the sender, which closes the channel if it
    /// was the last; what it is fed later comes back.
    ///
    /// # Errors
    /// As of [`sink`](Self::sink).
    ///
    /// # Cancellation
    /// As of [`sink`](Self::sink).
    ///
    /// # Examples
    /// ```
    /// use futures_util::{SinkExt, StreamExt, stream};
    /// let (tx, rx) = myriad::channel::bounded(2);
    /// let sending = myriad::spawn_async(async move {
    ///     let mut sink = tx.into_sink();
    ///     sink.send(1).await?;
    ///     sink.send_all(&mut stream::iter(2..=4).map(Ok)).await?;
    ///     sink.close().await
    /// });
    /// assert_eq!(rx.iter().sum::<u32>(), 10, "until it is closed");
    /// assert!(sending.join().unwrap().is_ok());
    /// ```
    pub fn into_sink(self) -> IntoSink<T> {
        IntoSink { sender: Some(self), sending: Box::pin(Sending::empty()) }
    }
}

impl<T> SendSink<'_, T> {
    fn sending(self: Pin<&mut Self>) -> Pin<&mut Sending<T>> {
        // SAFETY: the field is pinned as the whole is.
        unsafe { self.map_unchecked_mut(|this| &mut this.sending) }
    }

    /// Until nothing waits for room.
    fn poll_sent(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        if !self.sending.is_full() {
            return Poll::Ready(Ok(()));
        }
        let sender = self.sender;
        // SAFETY: its channel is that of our sender.
        unsafe { self.sending().poll(sender.chan(), cx) }
    }
}

impl<T> IntoSink<T> {
    fn poll_sent(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let this = &mut *self;
        match &this.sender {
            // SAFETY: its channel is that of our sender.
            Some(sender) if this.sending.is_full() => unsafe { this.sending.as_mut().poll(sender.chan(), cx) },
            _ => Poll::Ready(Ok(())),
        }
    }
}

/// What a sink says that is fed out of turn.
const NOT_READY: &str = "a sink is fed before it is ready: call poll_ready first";

impl<T> Sink<T> for SendSink<'_, T> {
    type Error = SendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }

    /// # Panics
    /// If it is not ready.
    fn start_send(self: Pin<&mut Self>, value: T) -> Result<(), SendError<T>> {
        assert!(!self.sending.is_full(), "{NOT_READY}");
        self.sending().fill(value);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }
}

impl<T> Sink<T> for IntoSink<T> {
    type Error = SendError<T>;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }

    /// # Errors
    /// It is closed: the message comes back.
    ///
    /// # Panics
    /// If it is not ready.
    fn start_send(mut self: Pin<&mut Self>, value: T) -> Result<(), SendError<T>> {
        if self.sender.is_none() {
            return Err(SendError(value));
        }
        assert!(!self.sending.is_full(), "{NOT_READY}");
        self.sending.as_mut().fill(value);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        self.poll_sent(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let sent = self.as_mut().poll_sent(cx);
        if sent.is_ready() {
            self.sender = None;
        }
        sent
    }
}

impl<T> Drop for SendSink<'_, T> {
    fn drop(&mut self) {
        // SAFETY: its channel is that of our sender.
        unsafe { self.sending.give_up(self.sender.chan()) };
    }
}

impl<T> Drop for IntoSink<T> {
    fn drop(&mut self) {
        if let Some(sender) = &self.sender {
            // SAFETY: its channel is that of our sender, which goes after this. Nothing is moved
            // out of its pin.
            unsafe { self.sending.as_mut().get_unchecked_mut().give_up(sender.chan()) };
        }
    }
}

impl<T> fmt::Debug for RecvStream<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RecvStream").field(self.receiver).finish()
    }
}
impl<T> fmt::Debug for IntoStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("IntoStream").field(&self.receiver).finish()
    }
}
impl<T> fmt::Debug for SendSink<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendSink").field("sending", &self.sending.is_full()).finish_non_exhaustive()
    }
}
impl<T> fmt::Debug for IntoSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sending = self.sending.is_full();
        f.debug_struct("IntoSink").field("closed", &self.sender.is_none()).field("sending", &sending).finish()
    }
}
