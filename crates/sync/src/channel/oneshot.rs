//! A channel for one message.

use super::error::SendError;
use super::{Receiver, Sender};

/// A channel for one message: sending uses up the sender, and never waits. The receiver is a usual
/// one.
///
/// # Examples
/// ```
/// use myriad::channel::{RecvError, oneshot};
/// let (tx, rx) = oneshot();
/// myriad::spawn(move || tx.send(6 * 7));
/// assert_eq!((rx.recv(), rx.recv()), (Ok(42), Err(RecvError)));
/// ```
#[doc(alias = "Future")]
#[must_use]
#[track_caller]
pub fn oneshot<T>() -> (OnceSender<T>, Receiver<T>) {
    let (tx, rx) = super::bounded(1);
    (OnceSender(tx), rx)
}

/// Sends one message; see [`oneshot`]. Dropped without that, it closes the channel.
#[derive(Debug)]
pub struct OnceSender<T>(Sender<T>);

impl<T> OnceSender<T> {
    /// Sends the message, and closes the channel behind it.
    ///
    /// # Errors
    /// The receiver is gone, or has closed the channel: the message comes back.
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        // The only message of a channel with room for one: it never waits.
        self.0.send(value)
    }
    /// A future that is ready when nobody is there any more who would receive it: see
    /// [`Sender::closed_async`].
    pub fn closed_async(&self) -> impl Future<Output = ()> + use<'_, T> {
        self.0.closed_async()
    }
    /// Is nobody there any more who would receive it?
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}
