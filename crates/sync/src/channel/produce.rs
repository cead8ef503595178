//! A channel with its producer: whose end closes it, and whose failure reaches the receivers.

use super::{Receiver, Sender, bounded};
use myriad_base::sys::mutex::Mutex;
use myriad_core::{JoinError, JoinHandle};
use std::fmt;

/// Starts a task that sends, and returns what it sends to. The task's end closes the channel; if it
/// panics, whoever comes to the end hears that. (Julia's `Channel(f, n)`.)
///
/// # Cancellation
/// If the [`Produced`] is dropped, the task's next send fails; what it makes of that is its own
/// business.
///
/// # Examples
/// ```
/// use myriad::channel::produce;
/// let squares = produce(10, |tx| (1..=4).for_each(|n| _ = tx.send(n * n)));
/// assert_eq!(squares.collect::<Result<Vec<_>, _>>().unwrap(), [1, 4, 9, 16]);
///
/// let mut failing = produce(10, |tx| {
///     tx.send(1).unwrap();
///     std::panic::resume_unwind(Box::new("no more"));
/// });
/// assert_eq!(failing.next().unwrap().unwrap(), 1);
/// assert!(failing.next().unwrap().unwrap_err().is_panic());
/// assert!(failing.next().is_none());
/// ```
#[doc(alias = "generator")]
#[track_caller]
pub fn produce<T, F>(capacity: usize, f: F) -> Produced<T>
where
    T: Send + 'static,
    F: FnOnce(Sender<T>) + Send + 'static,
{
    let (tx, receiver) = bounded(capacity);
    let producer = Mutex::new(Some(myriad_core::spawn(move || f(tx))));
    Produced { receiver, producer }
}

/// What a producer sends; see [`produce`]. An iterator of messages, at whose end a failure is an
/// error.
pub struct Produced<T> {
    receiver: Receiver<T>,
    /// Until somebody has come to the end. (Not held while anybody waits.)
    producer: Mutex<Option<JoinHandle<()>>>,
}

impl<T> Produced<T> {
    /// Receives the next message; `None` at the end.
    ///
    /// # Blocking
    /// While the channel is empty, and at the end until the task has ended.
    ///
    /// # Errors
    /// The producer has panicked. One receive is told; later ones find the end.
    pub fn recv(&self) -> Result<Option<T>, JoinError> {
        match self.receiver.recv() {
            Ok(message) => Ok(Some(message)),
            Err(_) => self.end().map(|()| None),
        }
    }

    /// A future of [`recv`](Self::recv).
    ///
    /// # Errors
    /// As there.
    pub async fn recv_async(&self) -> Result<Option<T>, JoinError> {
        match self.receiver.recv_async().await {
            Ok(message) => Ok(Some(message)),
            Err(_) => match self.take() {
                Some(producer) => producer.await.map(|()| None),
                None => Ok(None),
            },
        }
    }

    /// The receiving end, for all else: trying, time limits, selects. It says of a failure only
    /// that the channel is closed; [`end`](Self::end) says more.
    pub fn receiver(&self) -> &Receiver<T> {
        &self.receiver
    }

    /// Waits for the producer's end.
    ///
    /// # Blocking
    /// Until the task has ended: so not before its messages are received, if it waits for room.
    ///
    /// # Errors
    /// The producer has panicked, and nobody was told.
    pub fn end(&self) -> Result<(), JoinError> {
        self.take().map_or(Ok(()), JoinHandle::join)
    }

    fn take(&self) -> Option<JoinHandle<()>> {
        self.producer.lock().take()
    }
}

impl<T> Iterator for Produced<T> {
    type Item = Result<T, JoinError>;
    fn next(&mut self) -> Option<Self::Item> {
        self.recv().transpose()
    }
}

impl<T> fmt::Debug for Produced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Produced").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}
