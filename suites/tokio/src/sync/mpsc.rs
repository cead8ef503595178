//! Channels with one receiver.

use myriad::channel as on;
use std::fmt;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// Errors.
pub mod error {
    use myriad::channel as on;

    pub use on::{SendError, SendTimeoutError, TrySendError};

    /// Why `try_recv` brought nothing.
    #[derive(Debug, PartialEq, Eq, Clone, Copy)]
    pub enum TryRecvError {
        /// Nothing is there now.
        Empty,
        /// No sender is there any more.
        Disconnected,
    }
}
use error::{SendError, SendTimeoutError, TryRecvError, TrySendError};

/// Sends to a channel with a capacity.
pub struct Sender<T>(on::Sender<T>);
/// Receives from a channel with a capacity.
pub struct Receiver<T>(on::Receiver<T>);
/// Sends to a channel without.
pub struct UnboundedSender<T>(on::Sender<T>);
/// Receives from a channel without.
pub struct UnboundedReceiver<T>(on::Receiver<T>);

/// A channel that holds so many messages.
pub fn channel<T>(buffer: usize) -> (Sender<T>, Receiver<T>) {
    assert!(buffer > 0, "mpsc bounded channel requires buffer > 0");
    let (tx, rx) = on::bounded(buffer);
    (Sender(tx), Receiver(rx))
}

/// A channel that holds any number of messages.
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let (tx, rx) = on::unbounded();
    (UnboundedSender(tx), UnboundedReceiver(rx))
}

impl<T> Sender<T> {
    /// Sends, and waits for room.
    pub fn send(&self, value: T) -> impl Future<Output = Result<(), SendError<T>>> {
        self.0.send_async(value)
    }
    /// Sends if there is room.
    pub fn try_send(&self, value: T) -> Result<(), TrySendError<T>> {
        self.0.try_send(value)
    }
    /// Sends, and blocks.
    pub fn blocking_send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value)
    }
    /// Sends, and waits so long.
    pub async fn send_timeout(&self, value: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.0.send_timeout_async(value, timeout).await
    }
    /// Room for so many.
    pub fn capacity(&self) -> usize {
        self.max_capacity() - self.0.len()
    }
    /// Room for so many when it is empty.
    pub fn max_capacity(&self) -> usize {
        self.0.capacity().expect("it has a capacity")
    }
}

impl<T> UnboundedSender<T> {
    /// Sends.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        self.0.send(value)
    }
}

macro_rules! both {
    ($sender:ident $receiver:ident) => {
        impl<T> $sender<T> {
            /// Is the receiver gone?
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }
            /// Waits until the receiver is gone.
            pub fn closed(&self) -> impl Future<Output = ()> + use<'_, T> {
                self.0.closed_async()
            }
            /// How many senders there are.
            pub fn strong_count(&self) -> usize {
                self.0.sender_count()
            }
            /// Do both send to one channel?
            pub fn same_channel(&self, other: &Self) -> bool {
                self.0.same_channel(&other.0)
            }
        }
        impl<T> $receiver<T> {
            /// Waits for a message.
            pub async fn recv(&mut self) -> Option<T> {
                self.0.recv_async().await.ok()
            }
            /// Waits for a message, and takes those behind it, so many in all.
            pub async fn recv_many(&mut self, buffer: &mut Vec<T>, limit: usize) -> usize {
                if limit == 0 {
                    return 0;
                }
                let Some(first) = self.recv().await else { return 0 };
                let before = buffer.len();
                buffer.push(first);
                buffer.extend(self.0.try_iter().take(limit - 1));
                buffer.len() - before
            }
            /// What is there.
            pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
                self.0.try_recv().map_err(|error| match error {
                    on::TryRecvError::Empty => TryRecvError::Empty,
                    on::TryRecvError::Closed => TryRecvError::Disconnected,
                })
            }
            /// Blocks for a message.
            pub fn blocking_recv(&mut self) -> Option<T> {
                self.0.recv().ok()
            }
            /// No more messages.
            pub fn close(&mut self) {
                self.0.close();
            }
            /// Are there no more messages to come?
            pub fn is_closed(&self) -> bool {
                self.0.is_closed()
            }
            /// Is nothing in it?
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
            /// How many messages are in it.
            pub fn len(&self) -> usize {
                self.0.len()
            }
        }
        impl<T> Clone for $sender<T> {
            fn clone(&self) -> Self {
                $sender(self.0.clone())
            }
        }
        impl<T> UnwindSafe for $sender<T> {}
        impl<T> RefUnwindSafe for $sender<T> {}
        impl<T> UnwindSafe for $receiver<T> {}
        impl<T> RefUnwindSafe for $receiver<T> {}
        impl<T> fmt::Debug for $sender<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(concat!(stringify!($sender), " { .. }"))
            }
        }
        impl<T> fmt::Debug for $receiver<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(concat!(stringify!($receiver), " { .. }"))
            }
        }
    };
}
both!(Sender Receiver);
both!(UnboundedSender UnboundedReceiver);
