//! A channel with a transformation: what is sent is not what is received.

use super::Sender;
use super::error::SendError;
use std::fmt;
use std::marker::PhantomData;

/// Sends what a function makes of its messages: none, one, or several for each. Made by
/// [`Sender::transform`].
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::unbounded();
/// let lengths = tx.transform(|text: &str| Some(text.len()));
/// lengths.send("three").unwrap();
/// assert_eq!(rx.recv(), Ok(5));
/// ```
pub struct TransformSender<A, B, I, F> {
    sender: Sender<B>,
    f: F,
    of: PhantomData<fn(A) -> I>,
}

impl<B> Sender<B> {
    /// A sender of other messages: `f` makes of each the messages of this channel. An `Option`
    /// filters and maps, a `Vec` or any other iterator expands. (core.async's transducers, but for
    /// two things. The function runs where the send is called, not under the channel's lock, so it
    /// may do what it wants, also wait; two senders may be in it at a time. And the channel's
    /// capacity holds also for what one message expands to: the send waits.)
    ///
    /// # Examples
    /// ```
    /// let (tx, rx) = myriad::channel::bounded(10);
    /// let odd = tx.clone().transform(|n: u32| (n % 2 == 1).then_some(n * 10));
    /// let both = tx.transform(|n: u32| [n, n + 1]);
    /// (1..=3).for_each(|n| odd.send(n).unwrap());
    /// both.send(7).unwrap();
    /// drop((odd, both));
    /// assert_eq!(rx.iter().collect::<Vec<_>>(), [10, 30, 7, 8]);
    /// ```
    pub fn transform<A, I, F>(self, f: F) -> TransformSender<A, B, I, F>
    where
        F: Fn(A) -> I,
        I: IntoIterator<Item = B>,
    {
        TransformSender { sender: self, f, of: PhantomData }
    }
}

impl<A, B, I, F> TransformSender<A, B, I, F>
where
    F: Fn(A) -> I,
    I: IntoIterator<Item = B>,
{
    /// Sends what the function makes of a message.
    ///
    /// # Blocking
    /// As [`Sender::send`], for each of its messages.
    ///
    /// # Errors
    /// The channel is closed: the message that could not be sent comes back; those before it are
    /// sent, those behind it dropped.
    ///
    /// # Panics
    /// If the function does; then nothing more is sent, and the sender may be used further.
    pub fn send(&self, value: A) -> Result<(), SendError<B>> {
        (self.f)(value).into_iter().try_for_each(|message| self.sender.send(message))
    }

    /// A future of [`send`](Self::send). The function is called by this call.
    ///
    /// # Cancellation
    /// What is not sent yet is dropped.
    ///
    /// # Errors
    /// As there.
    pub fn send_async(&self, value: A) -> impl Future<Output = Result<(), SendError<B>>> {
        let messages = (self.f)(value);
        async move {
            for message in messages {
                self.sender.send_async(message).await?;
            }
            Ok(())
        }
    }

    /// The channel's own sender: for messages that are as they should be, to close it, to ask how
    /// full it is.
    pub fn inner(&self) -> &Sender<B> {
        &self.sender
    }
}

impl<A, B, I, F: Clone> Clone for TransformSender<A, B, I, F> {
    fn clone(&self) -> Self {
        TransformSender { sender: self.sender.clone(), f: self.f.clone(), of: PhantomData }
    }
}

impl<A, B, I, F> fmt::Debug for TransformSender<A, B, I, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransformSender").field("sender", &self.sender).finish_non_exhaustive()
    }
}
