//! The public interface of `async-channel` 2.5.0 on [`myriad::channel`], so that the tests of that
//! crate can be run, unmodified, against Myriad's channels: `scripts/suites.sh async-channel`.

use futures_core::Stream;
use myriad::channel as on;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

pub use on::{RecvError, SendError, TryRecvError, TrySendError};

/// The sending end.
pub struct Sender<T>(on::Sender<T>);

/// The receiving end.
pub struct Receiver<T> {
    on: on::Receiver<T>,
    /// Made when it is polled as a stream.
    stream: Option<on::IntoStream<T>>,
}

/// A sending end that does not keep the channel open.
pub struct WeakSender<T>(on::WeakSender<T>);

/// A receiving end that does not keep the channel open.
pub struct WeakReceiver<T>(on::WeakReceiver<T>);

fn ends<T>((tx, rx): (on::Sender<T>, on::Receiver<T>)) -> (Sender<T>, Receiver<T>) {
    (Sender(tx), Receiver { on: rx, stream: None })
}

/// A channel that holds so many messages.
///
/// # Panics
/// If that is none.
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    assert!(cap > 0, "capacity cannot be zero");
    ends(on::bounded(cap))
}

/// A channel that holds any number of messages.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends(on::unbounded())
}

impl<T> Sender<T> {
    /// Sends if that is possible at once.
    pub fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(msg)
    }
    /// Sends, and waits for room.
    pub fn send(&self, msg: T) -> on::SendFuture<'_, T> {
        self.0.send_async(msg)
    }
    /// Sends, and blocks.
    pub fn send_blocking(&self, msg: T) -> Result<(), SendError<T>> {
        self.0.send(msg)
    }
    /// Sends, in the place of the oldest if it is full.
    pub fn force_send(&self, msg: T) -> Result<Option<T>, SendError<T>> {
        self.0.force_send(msg)
    }
    /// Waits until it is closed.
    pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
        self.0.closed_async()
    }
    /// Closes the channel.
    pub fn close(&self) -> bool {
        self.0.close()
    }
    /// Is it closed?
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// Is it full?
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }
    /// How many messages are in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// How many it holds.
    pub fn capacity(&self) -> Option<usize> {
        self.0.capacity()
    }
    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.0.receiver_count()
    }
    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        self.0.sender_count()
    }
    /// A weak one.
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender(self.0.downgrade())
    }
    /// Do both send to one channel?
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        self.0.same_channel(&other.0)
    }
}

impl<T> Receiver<T> {
    /// Receives what is there.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.on.try_recv()
    }
    /// Receives, and waits for a message.
    pub fn recv(&self) -> on::RecvFuture<'_, T> {
        self.on.recv_async()
    }
    /// Receives, and blocks.
    pub fn recv_blocking(&self) -> Result<T, RecvError> {
        self.on.recv()
    }
    /// Closes the channel.
    pub fn close(&self) -> bool {
        self.on.close()
    }
    /// Is it closed?
    pub fn is_closed(&self) -> bool {
        self.on.is_closed()
    }
    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }
    /// Is it full?
    pub fn is_full(&self) -> bool {
        self.on.is_full()
    }
    /// How many messages are in it.
    pub fn len(&self) -> usize {
        self.on.len()
    }
    /// How many it holds.
    pub fn capacity(&self) -> Option<usize> {
        self.on.capacity()
    }
    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.on.receiver_count()
    }
    /// How many senders there are.
    pub fn sender_count(&self) -> usize {
        self.on.sender_count()
    }
    /// A weak one.
    pub fn downgrade(&self) -> WeakReceiver<T> {
        WeakReceiver(self.on.downgrade())
    }
    /// Do both receive from one channel?
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        self.on.same_channel(&other.on)
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;
    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let me = self.get_mut();
        let stream = me.stream.get_or_insert_with(|| me.on.clone().into_stream());
        Pin::new(stream).poll_next(cx)
    }
}
// Nothing in it is pinned.
impl<T> Unpin for Receiver<T> {}

impl<T> WeakSender<T> {
    /// A sender, if there is one yet.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().map(Sender)
    }
}
impl<T> WeakReceiver<T> {
    /// A receiver, if there is one yet.
    pub fn upgrade(&self) -> Option<Receiver<T>> {
        Some(Receiver { on: self.0.upgrade()?, stream: None })
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender(self.0.clone())
    }
}
impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver { on: self.on.clone(), stream: None }
    }
}
impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        WeakSender(self.0.clone())
    }
}
impl<T> Clone for WeakReceiver<T> {
    fn clone(&self) -> Self {
        WeakReceiver(self.0.clone())
    }
}

macro_rules! debug {
    ($($name:ident)+) => {
        $(impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(concat!(stringify!($name), " { .. }"))
            }
        })+
    };
}
debug!(Sender Receiver WeakSender WeakReceiver);
