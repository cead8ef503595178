//! A value that is looked at.

use myriad::channel as on;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Errors.
pub mod error {
    /// Nobody is there; the value comes back.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub struct SendError<T>(pub T);

    /// No sender is there any more.
    #[derive(Debug, PartialEq, Eq, Clone)]
    pub struct RecvError(pub(super) ());
}

/// Sets the value.
pub struct Sender<T>(on::WatchSender<T>);

/// Looks at the value.
pub struct Receiver<T>(on::WatchReceiver<T>);

/// The value. (Myriad's are shared, and not locked while one looks.)
#[derive(Debug)]
pub struct Ref<T>(Arc<T>);

impl<T> Deref for Ref<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A value that is looked at.
pub fn channel<T>(init: T) -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = on::watch(init);
    (Sender(tx), Receiver(rx))
}

impl<T> Sender<T> {
    /// Sets the value.
    pub fn send(&self, value: T) -> Result<(), error::SendError<T>> {
        self.0.send(value).map_err(|error| error::SendError(error.0))
    }
    /// One more receiver.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver(self.0.subscribe())
    }
    /// The value.
    pub fn borrow(&self) -> Ref<T> {
        Ref(self.0.get())
    }
}

impl<T> Receiver<T> {
    /// The value.
    pub fn borrow(&self) -> Ref<T> {
        Ref(self.0.get())
    }
    /// The value, which is then no news.
    pub fn borrow_and_update(&mut self) -> Ref<T> {
        Ref(self.0.try_recv().unwrap_or_else(|_| self.0.get()))
    }
    /// Waits for another value.
    pub async fn changed(&mut self) -> Result<(), error::RecvError> {
        self.0.recv_async().await.map(drop).map_err(|_| error::RecvError(()))
    }
    /// Waits for such a value.
    pub async fn wait_for(&mut self, mut f: impl FnMut(&T) -> bool) -> Result<Ref<T>, error::RecvError> {
        loop {
            let value = self.borrow_and_update();
            if f(&value) {
                return Ok(value);
            }
            self.changed().await?;
        }
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender(self.0.clone())
    }
}
impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver(self.0.clone())
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
