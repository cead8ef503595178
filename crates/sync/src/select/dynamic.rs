//! A select whose arms are added at run time.

use super::arm::{Arm, Arms, Link, earlier};
use super::blocking;
use super::future::Polled;
use super::order::Order;
use crate::channel::{Receiver, RecvError, SendError, Sender};
use myriad_core::engine::wait::{Caller, MultiWait};
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::task::Waker;
use std::time::Duration;

/// A select over any number of arms, which are added at run time, and may be waited for again and
/// again.
///
/// Each arm has a function that makes the result of what the arm brings; it is called by
/// [`wait`](Self::wait), on the thread that waits, when all is decided. Arms that receive stay; one
/// that has sent its message, or whose future is ready, is used up and never ready again.
///
/// # Panics
/// A function that panics panics out of `wait`. The select may be used further.
///
/// # Examples
/// ```
/// use myriad::{channel::unbounded, select::Select};
/// let channels: Vec<_> = (0..10).map(|_| unbounded::<u32>()).collect();
/// let mut select = Select::new();
/// for (i, (_, rx)) in channels.iter().enumerate() {
///     select.recv(rx, move |message| (i, message.unwrap()));
/// }
/// channels[7].0.send(42).unwrap();
/// assert_eq!(select.wait(), (7, 42));
/// assert_eq!(select.try_wait(), None);
/// ```
/// Arms of all kinds, of which the first that is ready wins:
/// ```
/// use myriad::{channel::bounded, select::Select};
/// let (tx, rx) = bounded(1);
/// let mut slot = Some("tea");
/// let mut select = Select::biased();
/// select.add(rx.recv_arm(), |order| order.ok());
/// select.send_from(&tx, &mut slot, |sent| sent.ok().map(|()| "sent"));
/// assert_eq!(select.wait(), Some("sent"));
/// assert_eq!(select.wait(), Some("tea"));
/// ```
#[doc(alias = "FuturesUnordered")]
#[doc(alias = "select_all")]
pub struct Select<'a, R> {
    arms: Vec<Box<dyn Erased<R> + Send + 'a>>,
    order: Order,
    /// A future of this select was forgotten, so its arms may be linked.
    polled: bool,
}

impl<'a, R> Select<'a, R> {
    /// Without arms, which would wait for ever. Of several arms that are ready each wins with equal
    /// chances.
    pub fn new() -> Select<'a, R> {
        Select { arms: Vec::new(), order: Order::Fair, polled: false }
    }

    /// Of several arms that are ready the one that was added first wins.
    pub fn biased() -> Select<'a, R> {
        Select { order: Order::Biased, ..Select::new() }
    }

    /// Adds an arm.
    pub fn add<A>(&mut self, arm: A, f: impl FnMut(A::Output) -> R + Send + 'a) -> &mut Self
    where
        A: Arm + Send + 'a,
        A::Output: Send,
    {
        self.unlink_forgotten();
        self.arms.push(Box::new(ArmSlot { arm, f, won: None }));
        self
    }

    /// Adds an arm that receives.
    pub fn recv<T: Send>(
        &mut self,
        receiver: &'a Receiver<T>,
        f: impl FnMut(Result<T, RecvError>) -> R + Send + 'a,
    ) -> &mut Self {
        self.add(receiver.recv_arm(), f)
    }

    /// Adds an arm that sends a message, once. If the select goes before, the message is dropped;
    /// see [`send_from`](Self::send_from).
    pub fn send<T: Send>(
        &mut self,
        sender: &'a Sender<T>,
        value: T,
        f: impl FnMut(Result<(), SendError<T>>) -> R + Send + 'a,
    ) -> &mut Self {
        self.add(sender.send_arm(value), f)
    }

    /// Adds an arm that sends a message, once. If the select goes before, the message is in `slot`
    /// again.
    pub fn send_from<T: Send>(
        &mut self,
        sender: &'a Sender<T>,
        slot: &'a mut Option<T>,
        f: impl FnMut(Result<(), SendError<T>>) -> R + Send + 'a,
    ) -> &mut Self {
        self.add(sender.send_from_arm(slot), f)
    }

    /// How many arms there are, also used ones.
    pub fn len(&self) -> usize {
        self.arms.len()
    }
    /// Are there no arms?
    pub fn is_empty(&self) -> bool {
        self.arms.is_empty()
    }

    /// Waits until one of the arms is done, and does no other.
    ///
    /// # Blocking
    /// Until an arm is ready: see [the module](mod@super).
    pub fn wait(&mut self) -> R {
        self.until(None).expect("there is no time limit")
    }

    /// Does one of the arms if that is possible now. `None`: at one moment none of them was ready;
    /// see [`try_wait`](super::try_wait).
    pub fn try_wait(&mut self) -> Option<R> {
        self.unlink_forgotten();
        let number = blocking::try_wait(self.order, ArmList(&mut self.arms))?;
        Some(self.arms[number].finish())
    }

    /// As [`wait`](Self::wait), for at most `timeout`. `None`: the time has passed, and nothing was
    /// done.
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<R> {
        self.wait_deadline(time::now() + timeout)
    }

    /// As [`wait`](Self::wait), until `deadline` at the latest. `None`: the time has passed, and
    /// nothing was done.
    pub fn wait_deadline(&mut self, deadline: Instant) -> Option<R> {
        self.until(Some(deadline))
    }

    fn until(&mut self, limit: Option<Instant>) -> Option<R> {
        self.unlink_forgotten();
        // SAFETY: not linked; each stands in a box until it is dropped.
        let number = unsafe { blocking::until(&mut ArmList(&mut self.arms), self.order, limit) }?;
        Some(self.arms[number].finish())
    }

    /// A future that is ready when one of the arms is done, and does no other.
    ///
    /// # Cancellation
    /// As of [`wait_async`](super::wait_async). The select may be used further.
    pub fn wait_async(&mut self) -> impl Future<Output = R> + use<'_, 'a, R> {
        self.unlink_forgotten();
        let order = self.order;
        let Select { arms, polled, .. } = self;
        async move {
            *polled = true;
            let number = Polled::new(ArmList(arms), order, None).await.expect("there is no time limit");
            *polled = false;
            arms[number].finish()
        }
    }

    /// Unlinks what a forgotten future has left.
    fn unlink_forgotten(&mut self) {
        if std::mem::take(&mut self.polled) {
            ArmList(&mut self.arms).abandon(Caller::get());
        }
    }
}

impl<R> Default for Select<'_, R> {
    fn default() -> Self {
        Select::new()
    }
}

impl<R> fmt::Debug for Select<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").field("arms", &self.len()).field("order", &self.order).finish_non_exhaustive()
    }
}

/// An arm, what it has brought, and what to make of it.
struct ArmSlot<A: Arm, F> {
    arm: A,
    f: F,
    won: Option<A::Output>,
}

/// A [`ArmSlot`] whose arm's type is forgotten. Two steps: the function is user code, which may run
/// only when all arms are unlinked.
trait Erased<R> {
    /// # Safety
    /// The arm is not linked. With a waker: it does not move any more until it is dropped.
    unsafe fn attempt(&mut self, caller: Caller, waker: Option<&Waker>) -> bool;
    /// # Safety
    /// The arm is not linked. With a waker: it does not move any more until it is dropped.
    unsafe fn reattempt(&mut self, caller: Caller, waker: Option<&Waker>, seen: &mut u64) -> bool;
    /// # Safety
    /// The arm is not linked, and does not move until `unlink`, `abandon` or the destructor has
    /// returned. `me` is alive until then, or over.
    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link;
    fn unlink(&mut self, caller: Caller) -> bool;
    fn abandon(&mut self, caller: Caller);
    fn deadline(&mut self) -> Option<Instant>;
    fn needs_polling(&self) -> bool;
    fn finish(&mut self) -> R;
}

impl<R, A: Arm, F: FnMut(A::Output) -> R> Erased<R> for ArmSlot<A, F> {
    unsafe fn attempt(&mut self, caller: Caller, waker: Option<&Waker>) -> bool {
        // SAFETY: the arm is not linked, and with a waker it does not move any more (this method's
        // contract).
        self.won = unsafe { self.arm.attempt(caller, waker) };
        self.won.is_some()
    }
    unsafe fn reattempt(&mut self, caller: Caller, waker: Option<&Waker>, seen: &mut u64) -> bool {
        // SAFETY: the arm is not linked, and with a waker it does not move any more (this method's
        // contract).
        self.won = unsafe { self.arm.reattempt(caller, waker, seen) };
        self.won.is_some()
    }
    unsafe fn link(&mut self, caller: Caller, me: MultiWait) -> Link {
        // SAFETY: the arm is not linked, and does not move, and `me` is alive, until it is unlinked
        // (this method's contract).
        unsafe { self.arm.link(caller, me) }
    }
    fn unlink(&mut self, caller: Caller) -> bool {
        self.won = self.arm.unlink(caller);
        self.won.is_some()
    }
    fn abandon(&mut self, caller: Caller) {
        self.arm.abandon(caller);
    }
    fn deadline(&mut self) -> Option<Instant> {
        self.arm.deadline()
    }
    fn needs_polling(&self) -> bool {
        self.arm.needs_polling()
    }
    fn finish(&mut self) -> R {
        (self.f)(self.won.take().expect("the arm has won"))
    }
}

struct ArmList<'s, 'a, R>(&'s mut Vec<Box<dyn Erased<R> + Send + 'a>>);

// SAFETY: the boxes keep the arms where they are; each arm unlinks itself when it is dropped.
unsafe impl<R> Arms for ArmList<'_, '_, R> {
    /// The winner's number.
    type Output = usize;
    fn count(&self) -> usize {
        self.0.len()
    }
    unsafe fn attempt(&mut self, number: usize, caller: Caller, waker: Option<&Waker>) -> Option<usize> {
        // SAFETY: this arm is not linked (this method's contract); its box keeps it where it is
        // until it is dropped.
        unsafe { self.0[number].attempt(caller, waker) }.then_some(number)
    }
    unsafe fn reattempt(
        &mut self,
        number: usize,
        caller: Caller,
        waker: Option<&Waker>,
        seen: &mut u64,
    ) -> Option<usize> {
        // SAFETY: this arm is not linked (this method's contract); its box keeps it where it is
        // until it is dropped.
        unsafe { self.0[number].reattempt(caller, waker, seen) }.then_some(number)
    }
    unsafe fn link(&mut self, number: usize, caller: Caller, me: MultiWait) -> Link {
        // SAFETY: this arm is not linked, and `me` is alive until it is unlinked (this method's
        // contract); its box keeps it where it is until it is dropped.
        unsafe { self.0[number].link(caller, me) }
    }
    fn unlink(&mut self, caller: Caller) -> Option<usize> {
        let mut won = None;
        for (number, arm) in self.0.iter_mut().enumerate() {
            if arm.unlink(caller) {
                won = Some(number);
            }
        }
        won
    }
    fn abandon(&mut self, caller: Caller) {
        self.0.iter_mut().for_each(|arm| arm.abandon(caller));
    }
    fn deadline(&mut self) -> Option<Instant> {
        self.0.iter_mut().fold(None, |first, arm| earlier(first, arm.deadline()))
    }
    fn needs_polling(&self) -> bool {
        self.0.iter().any(|arm| arm.needs_polling())
    }
}
