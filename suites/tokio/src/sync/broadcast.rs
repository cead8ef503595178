//! A channel of which each receiver gets all.

use myriad::channel as on;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Errors.
pub mod error {
    /// Nobody is there; the message comes back.
    #[derive(Debug)]
    pub struct SendError<T>(pub T);

    /// Why `recv` brought nothing.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum RecvError {
        /// No sender is there any more, and all was received.
        Closed,
        /// So many are lost.
        Lagged(u64),
    }

    /// Why `try_recv` brought nothing.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum TryRecvError {
        /// Nothing is there now.
        Empty,
        /// No sender is there any more, and all was received.
        Closed,
        /// So many are lost.
        Lagged(u64),
    }
}

/// Sends to all. (Myriad's does not ask whether somebody listens, so receivers are counted here.)
pub struct Sender<T> {
    on: on::BroadcastSender<T>,
    receivers: Arc<AtomicUsize>,
}

/// Receives all.
pub struct Receiver<T> {
    on: on::BroadcastReceiver<T>,
    receivers: Arc<AtomicUsize>,
}

/// A channel that keeps so many messages.
pub fn channel<T: Clone>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity <= usize::MAX >> 1, "broadcast channel capacity exceeded `usize::MAX / 2`");
    let (tx, rx) = on::broadcast(capacity);
    let receivers = Arc::new(AtomicUsize::new(1));
    (Sender { on: tx, receivers: receivers.clone() }, Receiver { on: rx, receivers })
}

impl<T> Sender<T> {
    /// Sends, and says to how many.
    pub fn send(&self, value: T) -> Result<usize, error::SendError<T>> {
        match self.receivers.load(SeqCst) {
            0 => Err(error::SendError(value)),
            n => self.on.send(value).map(|()| n).map_err(|error| error::SendError(error.0)),
        }
    }
    /// One more receiver.
    pub fn subscribe(&self) -> Receiver<T> {
        self.receivers.fetch_add(1, SeqCst);
        Receiver { on: self.on.subscribe(), receivers: self.receivers.clone() }
    }
    /// How many receivers.
    pub fn receiver_count(&self) -> usize {
        self.receivers.load(SeqCst)
    }
}

impl<T: Clone> Receiver<T> {
    /// Waits for the next.
    pub async fn recv(&mut self) -> Result<T, error::RecvError> {
        match self.on.recv_async().await {
            Ok(on::Heard::Message(message)) => Ok(T::clone(&message)),
            Ok(on::Heard::Missed(n)) => Err(error::RecvError::Lagged(n)),
            Err(_) => Err(error::RecvError::Closed),
        }
    }
    /// The next, if it is there.
    pub fn try_recv(&mut self) -> Result<T, error::TryRecvError> {
        match self.on.try_recv() {
            Ok(on::Heard::Message(message)) => Ok(T::clone(&message)),
            Ok(on::Heard::Missed(n)) => Err(error::TryRecvError::Lagged(n)),
            Err(on::TryRecvError::Empty) => Err(error::TryRecvError::Empty),
            Err(on::TryRecvError::Closed) => Err(error::TryRecvError::Closed),
        }
    }
    /// Blocks for the next.
    pub fn blocking_recv(&mut self) -> Result<T, error::RecvError> {
        match self.on.recv() {
            Ok(on::Heard::Message(message)) => Ok(T::clone(&message)),
            Ok(on::Heard::Missed(n)) => Err(error::RecvError::Lagged(n)),
            Err(_) => Err(error::RecvError::Closed),
        }
    }
}

impl<T> Receiver<T> {
    /// How many are new to it.
    pub fn len(&self) -> usize {
        self.on.len() as usize
    }
    /// Is nothing new?
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender { on: self.on.clone(), receivers: self.receivers.clone() }
    }
}
impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.receivers.fetch_sub(1, SeqCst);
    }
}
impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("broadcast::Sender")
    }
}
impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("broadcast::Receiver")
    }
}
