//! Messages that every receiver gets.

use super::error::{RecvError, RecvTimeoutError, SendError, TryRecvError};
use super::observable::{Changed, Closer, Content, Cursor, Observable, receiving};
use crate::select::Arm;
use crate::values::drop_all;
use myriad_core::engine::user_code::UserValue;
use myriad_core::time::{self, Instant};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A channel in which every receiver gets every message that is sent after the receiver was
/// created. The channel keeps the newest `capacity` messages, and tells a receiver that is slower
/// how many it has missed. Sending never waits.
///
/// # Panics
/// If the capacity is 0.
///
/// # Examples
/// ```
/// use myriad::channel::{Heard, broadcast};
/// let (tx, mut a) = broadcast(2);
/// let mut b = tx.subscribe();
/// (1..=3).for_each(|n| tx.send(n).unwrap());
/// assert_eq!(a.recv(), Ok(Heard::Missed(1)));
/// assert_eq!(a.recv().unwrap().message().as_deref(), Some(&2));
/// drop(tx);
/// assert_eq!(b.recv(), Ok(Heard::Missed(1)));
/// assert_eq!(b.recv().unwrap().message().as_deref(), Some(&2));
/// assert_eq!(b.recv().unwrap().message().as_deref(), Some(&3));
/// assert!(b.recv().is_err(), "the last sender is gone");
/// ```
#[doc(alias = "bus")]
#[doc(alias = "pubsub")]
#[must_use]
#[track_caller]
pub fn broadcast<T>(capacity: usize) -> (BroadcastSender<T>, BroadcastReceiver<T>) {
    assert!(capacity > 0, "a broadcast needs room for a message: give it a capacity of 1 or more");
    // All of its memory now: it may not grow under the lock.
    let observable = Observable::new(Log { messages: VecDeque::with_capacity(capacity), first: 0, capacity });
    let closer = Arc::new(Closer(observable.clone()));
    (BroadcastSender { closer }, BroadcastReceiver { observable, cursor: LogCursor { next: 0, of: PhantomData } })
}

/// What a receiver of a [`broadcast`] hears.
///
/// # Examples
/// ```
/// use myriad::channel::{Heard, broadcast};
/// let (tx, mut rx) = broadcast(2);
/// for i in 0..4 {
///     tx.send(i).unwrap();
/// }
/// assert_eq!(rx.recv(), Ok(Heard::Missed(2)));
/// assert_eq!(rx.recv(), Ok(Heard::Message(2.into())));
/// ```
#[doc(alias = "Lagged")]
#[derive(Debug, PartialEq, Eq)]
pub enum Heard<T> {
    /// A message. All receivers share it.
    Message(Arc<T>),
    /// It has missed so many, which came and went while it was elsewhere.
    Missed(u64),
}

impl<T> Heard<T> {
    /// The message, if it is one.
    pub fn message(self) -> Option<Arc<T>> {
        match self {
            Heard::Message(message) => Some(message),
            Heard::Missed(_) => None,
        }
    }
}

impl<T> Clone for Heard<T> {
    fn clone(&self) -> Self {
        match self {
            Heard::Message(message) => Heard::Message(message.clone()),
            Heard::Missed(n) => Heard::Missed(*n),
        }
    }
}

/// A message in the log.
type Kept<T> = UserValue<Arc<T>>;

const _: () = crate::values::no_drop_glue::<Kept<String>>();

struct Log<T> {
    messages: VecDeque<Kept<T>>,
    /// The number of the first message that is kept.
    first: u64,
    capacity: usize,
}

impl<T> Content for Log<T> {
    unsafe fn drop_values(&mut self) {
        drop_all(std::mem::take(&mut self.messages));
    }
}

impl<T> Log<T> {
    fn end(&self) -> u64 {
        self.first + self.messages.len() as u64
    }
}

/// Sends to all receivers of a [`broadcast`].
pub struct BroadcastSender<T> {
    closer: Arc<Closer<Log<T>>>,
}

/// Receives all messages of a [`broadcast`]. A clone stands where this one does.
pub struct BroadcastReceiver<T> {
    observable: Arc<Observable<Log<T>>>,
    cursor: LogCursor<T>,
}

/// Has received all before this one.
struct LogCursor<T> {
    next: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Cursor for LogCursor<T> {
    type Content = Log<T>;
    type Item = Heard<T>;
    fn take(&mut self, log: &Log<T>) -> Option<Heard<T>> {
        if self.next < log.first {
            let missed = log.first - self.next;
            self.next = log.first;
            return Some(Heard::Missed(missed));
        }
        let message = log.messages.get((self.next - log.first) as usize)?;
        self.next += 1;
        Some(Heard::Message(message.peek().clone()))
    }
    fn has_news(&self, log: &Log<T>) -> bool {
        self.next < log.end()
    }
}

impl<T> BroadcastSender<T> {
    /// Sends a message to all receivers that there are. Never waits; it does not matter whether
    /// there are any.
    ///
    /// # Errors
    /// The channel is closed: the message comes back.
    ///
    /// # Panics
    /// If the destructor of the oldest message does, which there is no room for any more; the new
    /// one is sent.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        let changed = self.closer.0.change(UserValue::new(Arc::new(value)), |log, value| {
            let oldest = if log.messages.len() == log.capacity { log.messages.pop_front() } else { None };
            log.first += u64::from(oldest.is_some());
            log.messages.push_back(value);
            oldest
        });
        match changed {
            Ok(oldest) => {
                drop(oldest.map(UserValue::give));
                Ok(())
            }
            Err(value) => Err(SendError(Arc::into_inner(value.give()).expect("it is ours alone"))),
        }
    }
    /// A receiver of all messages from now on.
    pub fn subscribe(&self) -> BroadcastReceiver<T> {
        let next = self.closer.0.read(Log::end);
        BroadcastReceiver { observable: self.closer.0.clone(), cursor: LogCursor { next, of: PhantomData } }
    }
    /// Closes the channel for all: receivers get what they have not received yet. True: it was
    /// open.
    pub fn close(&self) -> bool {
        self.closer.0.close()
    }
}

impl<T> BroadcastReceiver<T> {
    /// How many messages are new to it, with those that it has missed.
    pub fn len(&self) -> u64 {
        self.observable.read(|log| log.end() - self.cursor.next)
    }
    /// Is nothing new to it?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
receiving!(BroadcastReceiver<T>, Heard<T>);

impl<T> Clone for BroadcastSender<T> {
    fn clone(&self) -> Self {
        BroadcastSender { closer: self.closer.clone() }
    }
}
impl<T> Clone for BroadcastReceiver<T> {
    fn clone(&self) -> Self {
        let cursor = LogCursor { next: self.cursor.next, of: PhantomData };
        BroadcastReceiver { observable: self.observable.clone(), cursor }
    }
}
impl<T> fmt::Debug for BroadcastSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BroadcastSender(..)")
    }
}
impl<T> fmt::Debug for BroadcastReceiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastReceiver").field("len", &self.len()).finish_non_exhaustive()
    }
}
