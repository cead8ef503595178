//! The public interface of `flume` 0.12.0 on [`myriad::channel`] and [`myriad::select`], so that
//! the tests of that crate can be run, unmodified, against Myriad's channels:
//! `scripts/suites.sh flume`. Its channels have the form of crossbeam-channel's, so they are those
//! of that package; here is what flume has beside it.

use crossbeam_channel::internal::{WeakEnd, is_disconnected, received, sent};
pub use crossbeam_channel::{
    IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryIter, TryRecvError,
    TrySendError, bounded, unbounded,
};
use myriad::select::Select;
use std::fmt;
use std::time::Duration;

/// What a receiver of flume's has beside crossbeam's.
pub trait Drains<T> {
    /// What is there now.
    fn drain(&self) -> std::vec::IntoIter<T>;
    /// Is there no sender any more?
    fn is_disconnected(&self) -> bool;
}

impl<T> Drains<T> for Receiver<T> {
    fn drain(&self) -> std::vec::IntoIter<T> {
        self.try_iter().collect::<Vec<_>>().into_iter()
    }
    fn is_disconnected(&self) -> bool {
        is_disconnected(self)
    }
}

/// A sending end that does not keep the channel open.
#[derive(Debug)]
pub struct WeakSender<T>(WeakEnd<T>);

impl<T> WeakSender<T> {
    /// A sending end, if there is still one.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade()
    }
}

/// What a sender of flume's has beside crossbeam's.
pub trait Weakens<T> {
    /// A weak one.
    fn downgrade(&self) -> WeakSender<T>;
}

impl<T> Weakens<T> for Sender<T> {
    fn downgrade(&self) -> WeakSender<T> {
        WeakSender(WeakEnd::of(self))
    }
}

/// Nothing was ready in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectError {
    /// The time has passed.
    Timeout,
}

/// Operations of which one is done, and a function for what each brings.
pub struct Selector<'a, T>(Select<'a, T>);

impl<'a, T: 'a> Selector<'a, T> {
    /// No operations.
    pub fn new() -> Self {
        Selector(Select::new())
    }
    /// Adds a send.
    pub fn send<U: Send, F>(mut self, sender: &'a Sender<U>, msg: U, mut mapper: F) -> Self
    where
        F: FnMut(Result<(), SendError<U>>) -> T + Send + 'a,
    {
        self.0.add(sender.send_arm(msg), move |result| mapper(sent(result)));
        self
    }
    /// Adds a receive.
    pub fn recv<U: Send, F>(mut self, receiver: &'a Receiver<U>, mut mapper: F) -> Self
    where
        F: FnMut(Result<U, RecvError>) -> T + Send + 'a,
    {
        self.0.add(receiver.recv_arm(), move |came| mapper(received(came)));
        self
    }
    /// Waits until one is done.
    pub fn wait(mut self) -> T {
        self.0.wait()
    }
    /// Waits so long.
    pub fn wait_timeout(mut self, dur: Duration) -> Result<T, SelectError> {
        self.0.wait_timeout(dur).ok_or(SelectError::Timeout)
    }
}

impl<'a, T: 'a> Default for Selector<'a, T> {
    fn default() -> Self {
        Selector::new()
    }
}

impl<T> fmt::Debug for Selector<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Selector { .. }")
    }
}
