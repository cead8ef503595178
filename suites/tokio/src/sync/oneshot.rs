//! A channel for one message.

use futures_core::Stream;
use myriad::channel as on;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Errors.
pub mod error {
    use std::fmt;

    /// The sender is gone.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub struct RecvError(pub(super) ());

    /// Why `try_recv` brought nothing.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub enum TryRecvError {
        /// Nothing is there now.
        Empty,
        /// Nothing will come.
        Closed,
    }

    impl fmt::Display for RecvError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("channel closed")
        }
    }
    impl std::error::Error for RecvError {}
}

/// Sends the message.
pub struct Sender<T> {
    on: Arc<on::OnceSender<T>>,
    /// A wait for its end, as soon as somebody has asked. It goes on between polls, of whichever
    /// future.
    closed: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// Receives the message: it is a future.
pub struct Receiver<T> {
    on: on::IntoStream<T>,
    terminated: bool,
}

/// A channel for one message.
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = on::oneshot();
    (Sender { on: Arc::new(tx), closed: None }, Receiver { on: rx.into_stream(), terminated: false })
}

impl<T> Sender<T> {
    /// Sends.
    pub fn send(self, t: T) -> Result<(), T> {
        // (It has a share.)
        drop(self.closed);
        Arc::into_inner(self.on).expect("the only share").send(t).map_err(|error| error.0)
    }
    /// Is nobody there any more?
    pub fn is_closed(&self) -> bool {
        self.on.is_closed()
    }
    /// Until nobody is there any more.
    pub fn closed(&mut self) -> impl Future<Output = ()>
    where
        T: Send + 'static,
    {
        poll_fn(|cx| self.poll_closed(cx))
    }
    /// The same. (In the tests it comes from a trait, which is not for this type.)
    pub fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()>
    where
        T: Send + 'static,
    {
        let on = &self.on;
        let closed = self.closed.get_or_insert_with(|| {
            let on = on.clone();
            Box::pin(async move { on.closed_async().await })
        });
        ready!(closed.as_mut().poll(cx));
        self.closed = None;
        Poll::Ready(())
    }
}

impl<T> Receiver<T> {
    /// Refuses the message, if it was not sent.
    pub fn close(&mut self) {
        self.on.receiver().close();
    }
    /// The message, if it is there.
    pub fn try_recv(&mut self) -> Result<T, error::TryRecvError> {
        let result = self.on.receiver().try_recv();
        self.terminated |= !matches!(result, Err(on::TryRecvError::Empty));
        result.map_err(|error| match error {
            on::TryRecvError::Empty => error::TryRecvError::Empty,
            on::TryRecvError::Closed => error::TryRecvError::Closed,
        })
    }
    /// Blocks for the message.
    pub fn blocking_recv(self) -> Result<T, error::RecvError> {
        self.on.receiver().recv().map_err(|_| error::RecvError(()))
    }
    /// Is nothing there?
    pub fn is_empty(&self) -> bool {
        self.on.receiver().is_empty()
    }
    /// Has it brought what it can bring?
    pub fn is_terminated(&self) -> bool {
        self.terminated
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, error::RecvError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let came = ready!(Pin::new(&mut self.on).poll_next(cx));
        self.terminated = true;
        Poll::Ready(came.ok_or(error::RecvError(())))
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sender { .. }")
    }
}
impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Receiver { .. }")
    }
}
