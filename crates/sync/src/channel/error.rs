//! Why an operation of a channel had no effect. The message is given back.

use std::fmt;

/// The channel is closed; the message comes back.
///
/// # Examples
/// ```
/// let (tx, rx) = myriad::channel::unbounded();
/// drop(rx);
/// let error = tx.send("kept").unwrap_err();
/// assert_eq!(error.into_inner(), "kept");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SendError<T>(pub T);

/// Why [`try_send`](super::Sender::try_send) did not send; the message comes back.
///
/// # Examples
/// ```
/// use myriad::channel::{TrySendError, bounded};
/// let (tx, _rx) = bounded(1);
/// tx.send(1).unwrap();
/// let full = tx.try_send(2).unwrap_err();
/// assert_eq!(full, TrySendError::Full(2));
/// assert_eq!((full.is_closed(), full.into_inner()), (false, 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The channel is full, or no receiver waits at the rendezvous.
    Full(T),
    /// The channel is closed.
    Closed(T),
}

/// Why a send with a time limit did not send; the message comes back.
///
/// # Examples
/// ```
/// use myriad::channel::{SendTimeoutError, bounded};
/// let (tx, _rx) = bounded(1);
/// tx.send(1).unwrap();
/// let late = tx.send_timeout(2, std::time::Duration::from_millis(1)).unwrap_err();
/// assert_eq!(late, SendTimeoutError::Timeout(2));
/// assert_eq!((late.is_closed(), late.into_inner()), (false, 2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendTimeoutError<T> {
    /// The time has passed.
    Timeout(T),
    /// The channel is closed.
    Closed(T),
}

/// The channel is closed, and nothing is left in it.
///
/// # Examples
/// ```
/// use myriad::channel::{RecvError, unbounded};
/// let (tx, rx) = unbounded();
/// tx.send(1).unwrap();
/// drop(tx);
/// assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecvError;

/// Why [`try_recv`](super::Receiver::try_recv) brought nothing.
///
/// # Examples
/// ```
/// use myriad::channel::{TryRecvError, unbounded};
/// let (tx, rx) = unbounded::<u32>();
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// drop(tx);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TryRecvError {
    /// Nothing is there now.
    Empty,
    /// The channel is closed, and nothing is left in it.
    #[doc(alias = "Disconnected")]
    Closed,
}

/// Why a receive with a time limit brought nothing.
///
/// # Examples
/// ```
/// use myriad::channel::{RecvTimeoutError, unbounded};
/// let (_tx, rx) = unbounded::<u32>();
/// let late = rx.recv_timeout(std::time::Duration::from_millis(1));
/// assert_eq!(late, Err(RecvTimeoutError::Timeout));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecvTimeoutError {
    /// The time has passed.
    Timeout,
    /// The channel is closed, and nothing is left in it.
    #[doc(alias = "Disconnected")]
    Closed,
}

impl<T> SendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> TrySendError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(value) | TrySendError::Closed(value) => value,
        }
    }
    /// Was the channel full?
    pub fn is_full(&self) -> bool {
        matches!(self, TrySendError::Full(_))
    }
    /// Is the channel closed?
    pub fn is_closed(&self) -> bool {
        matches!(self, TrySendError::Closed(_))
    }
}

impl<T> SendTimeoutError<T> {
    /// The message.
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Closed(value) => value,
        }
    }
    /// Has the time passed?
    pub fn is_timeout(&self) -> bool {
        matches!(self, SendTimeoutError::Timeout(_))
    }
    /// Is the channel closed?
    pub fn is_closed(&self) -> bool {
        matches!(self, SendTimeoutError::Closed(_))
    }
}

const CLOSED_SEND: &str = "sending on a closed channel";
const CLOSED_RECV: &str = "receiving on a closed channel with nothing left in it";

macro_rules! error {
    ($name:ident<T>, $($pattern:pat => $text:expr),+) => {
        impl<T> fmt::Display for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($pattern => $text),+ })
            }
        }
        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
        impl<T> std::error::Error for $name<T> {}
    };
    ($name:ident, $($pattern:pat => $text:expr),+) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($pattern => $text),+ })
            }
        }
        impl std::error::Error for $name {}
    };
}
error!(SendError<T>, _ => CLOSED_SEND);
error!(TrySendError<T>, TrySendError::Full(_) => "the channel is full", TrySendError::Closed(_) => CLOSED_SEND);
error!(SendTimeoutError<T>, SendTimeoutError::Timeout(_) => "the time for a send has passed", SendTimeoutError::Closed(_) => CLOSED_SEND);
error!(RecvError, _ => CLOSED_RECV);
error!(TryRecvError, TryRecvError::Empty => "nothing is in the channel", TryRecvError::Closed => CLOSED_RECV);
error!(RecvTimeoutError, RecvTimeoutError::Timeout => "the time for a receive has passed", RecvTimeoutError::Closed => CLOSED_RECV);
