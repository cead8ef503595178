//! Channels: typed queues between tasks, futures and threads; many senders, many receivers.
//!
//! | | holds | a message goes to |
//! |---|---|---|
//! | [`bounded`] | so many messages; a send to a full one waits | one receiver |
//! | [`unbounded`] | any number; a send never waits | one receiver |
//! | [`rendezvous`] | none: a send ends when a receiver has the message | one receiver |
//! | [`bounded_drop_oldest`], [`bounded_drop_newest`] | so many; a send to a full one drops a message | one receiver |
//! | [`oneshot`] | one message | one receiver |
//! | [`promise`] | one value, for good | all receivers |
//! | [`watch`] | the latest value | all receivers |
//! | [`broadcast`] | the newest messages | all receivers |
//! | [`produce`] | so many, which a task sends until its end | one receiver |
//! | [`after`], [`tick`], [`never()`] | a time | one receiver |
//!
//! Each operation exists in the same endings: `send` waits, `try_send` never does, `send_timeout`
//! and `send_deadline` wait so long, `send_async` is a future. Messages arrive in the order in
//! which their sends took effect, and waiters are served first come, first served.
//!
//! A channel is *closed* by [`Sender::close`], [`Receiver::close`], or when all ends of one side
//! are dropped. Then sends fail, with the message in the error, and receivers get what is buffered
//! before they fail. No message is lost but by dropping it: a receive that is cancelled, by a
//! timeout or by dropping its future, has had no effect.
//!
//! # Examples
//! ```
//! use myriad::channel::bounded;
//! let (tx, rx) = bounded(10);
//! let producer = myriad::spawn(move || (0..100).for_each(|i| tx.send(i).unwrap()));
//! let sum: i32 = rx.iter().sum();
//! assert_eq!(sum, 4950);
//! producer.join().unwrap();
//! ```

mod arm;
mod blocked;
mod broadcast;
mod callback;
mod chan;
mod closed;
mod ends;
mod error;
mod future;
mod look;
mod observable;
mod oneshot;
mod peek;
mod produce;
mod promise;
mod receiver;
pub(crate) mod ring;
mod sender;
mod stream;
mod time;
mod transform;
mod watch;
mod weak;

use crate::entry;

#[cfg(doctest)]
mod compile_fail;
#[cfg(all(test, not(loom)))]
mod test;

use chan::WhenFull;

pub use arm::{RecvArm, SendArm};
pub use broadcast::{BroadcastReceiver, BroadcastSender, Heard, broadcast};
pub use error::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};
pub use future::{RecvFuture, SendFuture};
pub use oneshot::{OnceSender, oneshot};
pub use produce::{Produced, produce};
pub use promise::{PromiseReceiver, PromiseSender, promise};
pub use receiver::{IntoIter, Iter, Receiver, TryIter};
pub use sender::Sender;
pub use stream::{IntoSink, IntoStream, RecvStream, SendSink};
pub use time::{Ticks, after, never, tick};
pub use transform::TransformSender;
pub use watch::{WatchReceiver, WatchSender, watch};
pub use weak::{WeakReceiver, WeakSender};

/// A channel that holds up to `capacity` messages.
///
/// A capacity of 0 makes a [`rendezvous`]; memory is taken as messages come, so a huge capacity (up
/// to `usize::MAX`, which is as good as [`unbounded`]) costs nothing before it is used.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::bounded(2);
/// tx.send(1).unwrap();
/// tx.send(2).unwrap();
/// assert!(tx.try_send(3).is_err(), "it is full: `send` would wait");
/// drop(tx);
/// assert_eq!(rx.iter().collect::<Vec<_>>(), [1, 2]);
/// ```
#[doc(alias = "mpsc")]
#[doc(alias = "mpmc")]
#[doc(alias = "chan")]
#[doc(alias = "channel")]
#[doc(alias = "sync_channel")]
#[must_use]
#[track_caller]
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    ends::new(capacity, WhenFull::Wait)
}

/// A channel that holds any number of messages: sending never waits.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::unbounded();
/// (0..1000).for_each(|n| tx.send(n).unwrap());
/// assert_eq!((rx.recv(), rx.len()), (Ok(0), 999));
/// ```
#[doc(alias = "mpsc")]
#[doc(alias = "mpmc")]
#[doc(alias = "chan")]
#[doc(alias = "unbounded_channel")]
#[doc(alias = "channel")]
#[must_use]
#[track_caller]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends::new(usize::MAX, WhenFull::Wait)
}

/// A channel that holds no message: each send waits for a receive, and the other way round.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::rendezvous();
/// assert!(tx.try_send(1).is_err(), "nobody receives");
/// let task = myriad::spawn(move || rx.recv());
/// tx.send(2).unwrap(); // waits for the receive
/// assert_eq!(task.join().unwrap(), Ok(2));
/// ```
#[doc(alias = "mpsc")]
#[doc(alias = "chan")]
#[doc(alias = "zero_capacity")]
#[doc(alias = "sync_channel")]
#[must_use]
#[track_caller]
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    ends::new(0, WhenFull::Wait)
}

/// A channel that holds the newest `capacity` messages: a send to a full one drops the oldest, and
/// never waits.
///
/// # Panics
/// If the capacity is 0. A send panics if the destructor of what it drops does.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::bounded_drop_oldest(2);
/// (1..=4).for_each(|n| tx.send(n).unwrap());
/// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [3, 4]);
/// ```
#[doc(alias = "sliding")]
#[doc(alias = "overflow")]
#[must_use]
#[track_caller]
pub fn bounded_drop_oldest<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "a channel that drops its oldest message needs room for a message: give it a capacity of 1 or more"
    );
    ends::new(capacity, WhenFull::DropOldest)
}

/// A channel that holds the oldest `capacity` messages: a send to a full one drops its message, and
/// never waits.
///
/// # Panics
/// If the capacity is 0. A send panics if the destructor of what it drops does.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::bounded_drop_newest(2);
/// (1..=4).for_each(|n| tx.send(n).unwrap());
/// assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]);
/// ```
#[doc(alias = "dropping")]
#[must_use]
#[track_caller]
pub fn bounded_drop_newest<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        capacity > 0,
        "a channel that drops new messages needs room for a message: give it a capacity of 1 or more"
    );
    ends::new(capacity, WhenFull::DropNewest)
}
