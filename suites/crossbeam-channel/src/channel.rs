//! The ends of channels.

use crate::err::*;
use crate::select::Ticket;
use myriad::channel::{self as on, OnceSender, Ticks};
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What is sent: the message, or the place into which it will be put.
#[allow(missing_debug_implementations, reason = "nobody can name it")]
pub enum Slot<T> {
    Now(T),
    Later(on::Receiver<T>),
}

impl<T> Slot<T> {
    pub(crate) fn message(self) -> T {
        match self {
            Slot::Now(message) => message,
            Slot::Later(place) => place.recv().expect("the sender completes the operation that it has selected"),
        }
    }
}

/// Of a message that came back to its own sender.
pub(crate) fn back<T>(slot: Slot<T>) -> T {
    let Slot::Now(message) = slot else { unreachable!("only a `Select` sends a place, and takes it back itself") };
    message
}

/// What a select has brought, by the operation that is to complete it.
pub(crate) struct Selected<W>(Mutex<Vec<(Ticket, W)>>);

impl<W> Selected<W> {
    fn new() -> Self {
        Selected(Mutex::new(Vec::new()))
    }
    pub(crate) fn put(&self, ticket: Ticket, what: W) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((ticket, what));
    }
    pub(crate) fn take(&self, ticket: Ticket) -> Option<W> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(other, _)| *other == ticket)?;
        Some(all.swap_remove(at).1)
    }
}

/// The sending end.
pub struct Sender<T> {
    pub(crate) on: on::Sender<Slot<T>>,
    /// The places that were sent, and are to be filled; none if the channel was found disconnected.
    pub(crate) selected: Selected<Option<OnceSender<T>>>,
}

/// The receiving end.
pub struct Receiver<T> {
    pub(crate) on: Flavor<T>,
    pub(crate) selected: Selected<Result<T, RecvError>>,
}

pub(crate) enum Flavor<T> {
    Channel(on::Receiver<Slot<T>>),
    /// Of `after` and `tick`, with what makes the message of a time.
    Times(Arc<Times<T>>),
    Never,
}

type Times<T> = (Ticks, fn(Instant) -> T);

fn ends<T>((tx, rx): (on::Sender<Slot<T>>, on::Receiver<Slot<T>>)) -> (Sender<T>, Receiver<T>) {
    (Sender { on: tx, selected: Selected::new() }, Receiver::of(Flavor::Channel(rx)))
}

/// A channel that holds any number of messages.
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    ends(on::unbounded())
}

/// A channel that holds so many messages.
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    ends(on::bounded(cap))
}

fn times(ticks: Ticks) -> Receiver<Instant> {
    Receiver::of(Flavor::Times(Arc::new((ticks, |at| at))))
}

/// One message, after this time.
pub fn after(duration: Duration) -> Receiver<Instant> {
    times(on::after(duration))
}

/// One message, at this time.
pub fn at(when: Instant) -> Receiver<Instant> {
    after(when.saturating_duration_since(Instant::now()))
}

/// No message, ever.
pub fn never<T>() -> Receiver<T> {
    Receiver::of(Flavor::Never)
}

/// A message each period. (Myriad's has no period of nothing, which is crossbeam's for "always".)
pub fn tick(duration: Duration) -> Receiver<Instant> {
    times(on::tick(duration.max(Duration::from_nanos(1))))
}

/// A time of Myriad's, as std's.
pub(crate) fn instant(at: myriad::time::Instant) -> Instant {
    static BOTH: OnceLock<(myriad::time::Instant, Instant)> = OnceLock::new();
    // In this order, so that no time comes out too early.
    let (zero, std_zero) = *BOTH.get_or_init(|| (myriad::time::now(), Instant::now()));
    if at >= zero { std_zero + (at - zero) } else { std_zero - (zero - at) }
}

impl<T> Sender<T> {
    /// Sends if that is possible at once.
    pub fn try_send(&self, msg: T) -> Result<(), TrySendError<T>> {
        self.on.try_send(Slot::Now(msg)).map_err(|error| match error {
            on::TrySendError::Full(slot) => TrySendError::Full(back(slot)),
            on::TrySendError::Closed(slot) => TrySendError::Disconnected(back(slot)),
        })
    }
    /// Sends, and waits for room.
    pub fn send(&self, msg: T) -> Result<(), SendError<T>> {
        self.on.send(Slot::Now(msg)).map_err(|error| SendError(back(error.0)))
    }
    /// Sends, and waits so long.
    pub fn send_timeout(&self, msg: T, timeout: Duration) -> Result<(), SendTimeoutError<T>> {
        self.on.send_timeout(Slot::Now(msg), timeout).map_err(|error| match error {
            on::SendTimeoutError::Timeout(slot) => SendTimeoutError::Timeout(back(slot)),
            on::SendTimeoutError::Closed(slot) => SendTimeoutError::Disconnected(back(slot)),
        })
    }
    /// Sends, and waits until then.
    pub fn send_deadline(&self, msg: T, deadline: Instant) -> Result<(), SendTimeoutError<T>> {
        self.send_timeout(msg, deadline.saturating_duration_since(Instant::now()))
    }
    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.on.is_empty()
    }
    /// Is it full?
    pub fn is_full(&self) -> bool {
        self.on.is_full()
    }
    /// How many messages are in it.
    pub fn len(&self) -> usize {
        self.on.len()
    }
    /// How many it holds.
    pub fn capacity(&self) -> Option<usize> {
        self.on.capacity()
    }
    /// Do both send to one channel?
    pub fn same_channel(&self, other: &Sender<T>) -> bool {
        self.on.same_channel(&other.on)
    }
}

impl<T> Receiver<T> {
    fn of(on: Flavor<T>) -> Receiver<T> {
        Receiver { on, selected: Selected::new() }
    }
    /// Receives what is there.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        match &self.on {
            Flavor::Channel(rx) => rx.try_recv().map(Slot::message).map_err(|error| match error {
                on::TryRecvError::Empty => TryRecvError::Empty,
                on::TryRecvError::Closed => TryRecvError::Disconnected,
            }),
            Flavor::Times(times) => times.0.try_recv().map(|at| times.1(instant(at))).map_err(|_| TryRecvError::Empty),
            Flavor::Never => Err(TryRecvError::Empty),
        }
    }
    /// Receives, and waits for a message.
    pub fn recv(&self) -> Result<T, RecvError> {
        match &self.on {
            Flavor::Channel(rx) => rx.recv().map(Slot::message).map_err(|_| RecvError),
            Flavor::Times(times) => times.0.recv().map(|at| times.1(instant(at))).map_err(|_| RecvError),
            Flavor::Never => match on::never().recv() {
                Ok(at) => unreachable!("a message from nowhere, at {at:?}"),
                Err(_) => Err(RecvError),
            },
        }
    }
    /// Receives, and waits so long.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let error = |error| match error {
            on::RecvTimeoutError::Timeout => RecvTimeoutError::Timeout,
            on::RecvTimeoutError::Closed => RecvTimeoutError::Disconnected,
        };
        match &self.on {
            Flavor::Channel(rx) => rx.recv_timeout(timeout).map(Slot::message).map_err(error),
            Flavor::Times(times) => times.0.recv_timeout(timeout).map(|at| times.1(instant(at))).map_err(error),
            Flavor::Never => {
                myriad::time::sleep(timeout);
                Err(RecvTimeoutError::Timeout)
            }
        }
    }
    /// Receives, and waits until then.
    pub fn recv_deadline(&self, deadline: Instant) -> Result<T, RecvTimeoutError> {
        self.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }
    /// Is nothing in it?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Is it full?
    pub fn is_full(&self) -> bool {
        self.capacity().is_some_and(|capacity| self.len() >= capacity)
    }
    /// How many messages are in it.
    pub fn len(&self) -> usize {
        match &self.on {
            Flavor::Channel(rx) => rx.len(),
            Flavor::Times(times) => times.0.is_ready().into(),
            Flavor::Never => 0,
        }
    }
    /// How many it holds.
    pub fn capacity(&self) -> Option<usize> {
        match &self.on {
            Flavor::Channel(rx) => rx.capacity(),
            Flavor::Times(_) => Some(1),
            Flavor::Never => Some(0),
        }
    }
    /// Messages until it is disconnected.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }
    /// Messages that are there.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
    /// Do both receive from one channel?
    pub fn same_channel(&self, other: &Receiver<T>) -> bool {
        match (&self.on, &other.on) {
            (Flavor::Channel(a), Flavor::Channel(b)) => a.same_channel(b),
            (Flavor::Times(a), Flavor::Times(b)) => Arc::ptr_eq(a, b),
            (Flavor::Never, Flavor::Never) => true,
            _ => false,
        }
    }
}

/// Of packages whose channels are these: a sending end that does not keep the channel open.
pub struct WeakEnd<T>(on::WeakSender<Slot<T>>);

impl<T> WeakEnd<T> {
    /// Of this one's channel.
    pub fn of(sender: &Sender<T>) -> Self {
        WeakEnd(sender.on.downgrade())
    }
    /// A sending end, if there is still one.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().map(|on| Sender { on, selected: Selected::new() })
    }
}

impl<T> fmt::Debug for WeakEnd<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("WeakEnd { .. }")
    }
}

/// Of such packages: is there no sender any more?
pub fn is_disconnected<T>(receiver: &Receiver<T>) -> bool {
    matches!(&receiver.on, Flavor::Channel(rx) if rx.is_closed())
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender { on: self.on.clone(), selected: Selected::new() }
    }
}
impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver::of(match &self.on {
            Flavor::Channel(rx) => Flavor::Channel(rx.clone()),
            Flavor::Times(times) => Flavor::Times(times.clone()),
            Flavor::Never => Flavor::Never,
        })
    }
}
impl<T> UnwindSafe for Sender<T> {}
impl<T> RefUnwindSafe for Sender<T> {}
impl<T> UnwindSafe for Receiver<T> {}
impl<T> RefUnwindSafe for Receiver<T> {}
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

/// See [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);
/// See [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);
/// Messages until it is disconnected.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}
impl<T> Iterator for TryIter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}
impl<T> Iterator for IntoIter<T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}
impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;
    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;
    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}
