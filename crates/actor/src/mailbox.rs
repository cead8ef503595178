//! An actor's own end: where its function receives.

use crate::address::Address;
use crate::cell::{Cell, pid_of, target};
use crate::frame::goes_on;
use crate::monitor::{MonitorRef, monitor_by};
use crate::pid::{AsPid, Down, Exit, Pid};
use crate::saved::{Mark, Saved};
use crate::shared::{Counted, Shared};
use myriad_core::time::{self, Instant};
use myriad_sync::inbox::{Inbox, ReceiveNote};
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The mailbox of an actor that is a function: what its closure or future is given.
///
/// A receive takes the oldest message; a [selective](Self::select) one, which
/// [`receive!`](crate::receive!) writes, the oldest that fits, and puts the others off, in their
/// order, for later receives. Messages and the end of others (exits, downs, timers) are in one
/// queue.
///
/// # Cancellation
/// Each receive that waits ends when the actor is told to end: it unwinds. No message is lost by
/// that, or by a future that is dropped.
///
/// # Examples
/// ```
/// use myriad::actor::{Builder, Mailbox};
/// let (_, end) = Builder::new().spawn_monitor(|mut mail: Mailbox<&str>| {
///     for text in ["one", "2", "three", "4"] {
///         mail.address().cast(text);
///     }
///     let number = mail.select(None, None, |text| text.parse::<u32>().ok());
///     assert_eq!(number, Some(("2", 2)));
///     assert_eq!(mail.receive(), "one");           // was put off
///     assert_eq!(mail.discard(|text| text.len() > 1), 1);
///     assert_eq!(mail.try_receive(), Some("4"));
///     assert_eq!(mail.try_receive(), None);
/// });
/// assert!(end.wait().reason.is_normal());
/// ```
pub struct Mailbox<M: Send + 'static> {
    cell: Shared<Cell<M>>,
    saved: Option<Box<Saved<M>>>,
}

const ENDED: &str = "the actor of this mailbox has ended";

impl<M: Send + 'static> Mailbox<M> {
    pub(crate) fn new(cell: Shared<Cell<M>>) -> Mailbox<M> {
        Mailbox { cell, saved: None }
    }

    /// The actor's address, for others to send to.
    pub fn address(&self) -> Address<M> {
        Address(target(self.cell.clone()))
    }

    /// Takes the oldest message; waits until there is one.
    ///
    /// # Blocking
    /// Until a message comes.
    ///
    /// # Panics
    /// If the function of this mailbox has ended, and the mailbox lives on elsewhere.
    #[inline]
    #[track_caller]
    pub fn receive(&mut self) -> M {
        if let Some(message) = saved_first(&self.cell, &mut self.saved) {
            return message;
        }
        let message = self.cell.inbox.receive(None).expect(ENDED);
        self.cell.took();
        message
    }

    /// Takes the oldest message if there is one, and the actor is not [suspended](crate::suspend).
    #[inline]
    pub fn try_receive(&mut self) -> Option<M> {
        if let Some(message) = saved_first(&self.cell, &mut self.saved) {
            return Some(message);
        }
        self.cell.inbox.try_receive().inspect(|_| self.cell.took())
    }

    /// Takes the oldest message; waits so long for one. `None`: the time was over.
    #[track_caller]
    pub fn receive_timeout(&mut self, limit: Duration) -> Option<M> {
        self.receive_deadline(time::now() + limit)
    }

    /// The same until then.
    #[track_caller]
    pub fn receive_deadline(&mut self, deadline: Instant) -> Option<M> {
        if let Some(message) = saved_first(&self.cell, &mut self.saved) {
            return Some(message);
        }
        self.cell.inbox.receive(Some(deadline)).inspect(|_| self.cell.took())
    }

    /// As [`receive`](Self::receive), as a future.
    #[inline]
    pub fn receive_async(&mut self) -> impl Future<Output = M> + Send + '_ {
        Receive { mailbox: self, receiving: ReceiveNote::default() }
    }

    /// As [`receive_timeout`](Self::receive_timeout), as a future.
    pub async fn receive_timeout_async(&mut self, limit: Duration) -> Option<M> {
        if let Some(message) = saved_first(&self.cell, &mut self.saved) {
            return Some(message);
        }
        let deadline = time::now() + limit;
        self.cell.inbox.receive_until(deadline).await.inspect(|_| self.cell.took())
    }

    /// Takes the oldest message for which `test` has an answer, with that; the others keep their
    /// order. With a mark only what came after it is looked at. `None`: the deadline is over; all
    /// messages were looked at before.
    ///
    /// [`receive!`](crate::receive!) writes this with patterns. Example: [`Mailbox`].
    ///
    /// # Blocking
    /// Until a message fits.
    ///
    /// # Complexity
    /// In the number of messages that were put off and are looked at.
    #[track_caller]
    pub fn select<R>(
        &mut self,
        mark: Option<Mark>,
        deadline: Option<Instant>,
        mut test: impl FnMut(&M) -> Option<R>,
    ) -> Option<(M, R)> {
        look_around(&self.cell, &mut self.saved);
        let mut found = self.saved_mut().take(mark, &mut test);
        while found.is_none() {
            let message = match self.cell.inbox.receive(deadline) {
                Some(message) => message,
                None if deadline.is_some() => return None,
                None => panic!("{ENDED}"),
            };
            found = self.saved_mut().test(message, &mut test);
        }
        self.cell.took();
        found
    }

    /// As [`select`](Self::select), as a future.
    pub async fn select_async<R>(
        &mut self,
        mark: Option<Mark>,
        deadline: Option<Instant>,
        mut test: impl FnMut(&M) -> Option<R>,
    ) -> Option<(M, R)> {
        look_around(&self.cell, &mut self.saved);
        let mut found = self.saved_mut().take(mark, &mut test);
        while found.is_none() {
            let received = match deadline {
                Some(deadline) => self.cell.inbox.receive_until(deadline).await,
                None => Some(self.cell.inbox.receive_async().await.expect(ENDED)),
            };
            found = self.saved_mut().test(received?, &mut test);
        }
        self.cell.took();
        found
    }

    /// Where the mailbox ends now: what is in it cannot be the answer to a request that is sent
    /// after this. A receive `from` the mark looks at nothing else, so it costs the same beside any
    /// number of messages that were put off.
    ///
    /// # Complexity
    /// In the number of messages that have come since the last receive.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Address, Mailbox, receive};
    /// let square = actor::spawn(|mut mail: Mailbox<(u32, Address<u32>)>| {
    ///     let (n, to) = mail.receive();
    ///     to.cast(n * n);
    /// });
    /// let (_, end) = actor::Builder::new().spawn_monitor(move |mut mail: Mailbox<u32>| {
    ///     (0..1000).for_each(|n| mail.address().cast(n));
    ///     let mark = mail.mark();
    ///     square.cast((7, mail.address()));
    ///     let answer = receive!(mail, from mark, { n => n });      // looks at none of the 1000
    ///     assert_eq!((answer, mail.receive()), (49, 0));
    /// });
    /// assert!(end.wait().reason.is_normal());
    /// ```
    pub fn mark(&mut self) -> Mark {
        let inbox: &Inbox<M> = &self.cell.inbox;
        let saved = self.saved.get_or_insert_default();
        while let Some(message) = inbox.pop() {
            saved.put_off(message);
        }
        saved.mark()
    }

    /// Drops the messages for which `test` says so, of all that wait; how many they were. Example:
    /// [`Mailbox`].
    ///
    /// # Complexity
    /// In the number of messages that wait: `test` is called once for each.
    pub fn discard(&mut self, mut test: impl FnMut(&M) -> bool) -> usize {
        self.mark();
        let Mailbox { cell, saved } = self;
        saved.as_mut().map_or(0, |saved| saved.discard(&mut test, || cell.took()))
    }

    /// From now on an exit of a linked actor, and whoever [tells](crate::exit) this one to end, is
    /// a message, which `exit` makes: most often a variant of the message type.
    /// [`kill`](crate::kill) ends it all the same.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Exit, Mailbox, Reason};
    /// enum Message { Exit(Exit) }
    /// let (tx, rx) = myriad::channel::oneshot();
    /// let boss = actor::spawn(move |mut mail: Mailbox<Message>| {
    ///     mail.trap_exits(Message::Exit);
    ///     let worker = actor::Builder::new().link(&mail).spawn(|_: Mailbox<()>| Err::<(), _>("no paper"));
    ///     let Message::Exit(exit) = mail.receive();
    ///     tx.send(exit.reason)
    /// });
    /// assert_eq!(rx.recv(), Ok(Reason::of("no paper")));
    /// ```
    pub fn trap_exits(&self, exit: fn(Exit) -> M) {
        self.cell.set_trap(Some(exit));
    }

    /// Exits are no messages any more: as it was before [`trap_exits`](Self::trap_exits).
    pub fn untrap_exits(&self) {
        self.cell.set_trap(None);
    }

    /// Watches for the end of another actor, which comes as a message that `down` makes. See
    /// [`monitor`](crate::monitor). It goes with this actor's end: then `down` may never be called.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Down, Mailbox, Reason};
    /// enum Message { Left(Down) }
    /// let (tx, rx) = myriad::channel::oneshot();
    /// actor::spawn(move |mut mail: Mailbox<Message>| {
    ///     let guest = actor::spawn(|mut mail: Mailbox<()>| mail.receive());
    ///     let watch = mail.monitor(&guest, Message::Left);
    ///     guest.cast(());
    ///     let Message::Left(down) = mail.receive();
    ///     assert_eq!(down.monitor, watch.id());
    ///     tx.send(down.reason)
    /// });
    /// assert_eq!(rx.recv(), Ok(Reason::Normal));
    /// ```
    pub fn monitor(&self, actor: &impl AsPid, down: impl FnOnce(Down) -> M + Send + 'static) -> MonitorRef {
        monitor_by(&actor.pid(), self.address().downgrade(), down)
    }

    fn saved_mut(&mut self) -> &mut Saved<M> {
        self.saved.get_or_insert_default()
    }
}

/// See [`Mailbox::receive_async`]. (By hand, so that a message is copied twice on its way to its
/// receiver, and not five times; and it is part of each actor that waits.)
struct Receive<'a, M: Send + 'static> {
    mailbox: &'a mut Mailbox<M>,
    receiving: ReceiveNote,
}

// What an idle actor takes: this and the mailbox in the task's record, and a cell.
const _: () = assert!(size_of::<Receive<'_, [u64; 9]>>() == 16 && size_of::<Mailbox<()>>() == 16);
const _: () = assert!(size_of::<Counted<Cell<[u64; 9]>>>() <= 168);

impl<M: Send + 'static> Future for Receive<'_, M> {
    type Output = M;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<M> {
        let this = &mut *self;
        let Mailbox { cell, saved } = &*this.mailbox;
        if saved.is_none()
            && !cell.life.is_marked()
            && cell.gate.is_none()
            && let Some(message) = this.receiving.poll_now(&cell.inbox)
        {
            return Poll::Ready(message);
        }
        this.poll_on(cx)
    }
}

impl<M: Send + 'static> Receive<'_, M> {
    #[inline(never)]
    fn poll_on(&mut self, cx: &mut Context<'_>) -> Poll<M> {
        let Mailbox { cell, saved } = &mut *self.mailbox;
        if !self.receiving.waits()
            && let Some(message) = saved_first(cell, saved)
        {
            return Poll::Ready(message);
        }
        let message = ready!(self.receiving.poll(&cell.inbox, cx)).expect(ENDED);
        cell.took();
        Poll::Ready(message)
    }
}

impl<M: Send + 'static> Drop for Receive<'_, M> {
    #[inline]
    fn drop(&mut self) {
        if self.receiving.waits() {
            self.receiving.give_up(&self.mailbox.cell.inbox);
        }
    }
}

/// The oldest message that was put off.
#[inline(always)]
fn saved_first<M: Send + 'static>(cell: &Cell<M>, saved: &mut Option<Box<Saved<M>>>) -> Option<M> {
    look_around(cell, saved);
    let message = saved.as_mut()?.first()?;
    cell.took();
    Some(message)
}

#[inline(always)]
fn look_around<M: Send + 'static>(cell: &Cell<M>, saved: &mut Option<Box<Saved<M>>>) {
    if cell.life.is_marked() {
        obey_marks(cell, saved);
    }
}

/// What panics have put off is dropped. What a suspended actor has put off goes back into the
/// inbox, which gives it nothing.
#[cold]
#[inline(never)]
fn obey_marks<M: Send + 'static>(cell: &Cell<M>, saved: &mut Option<Box<Saved<M>>>) {
    goes_on(&cell.life);
    if cell.inbox.is_paused() {
        put_back_all(cell, saved);
    }
}

/// What was put off goes back. (Where the inbox is closed it is dropped here.)
fn put_back_all<M: Send + 'static>(cell: &Cell<M>, saved: &mut Option<Box<Saved<M>>>) {
    while let Some(message) = saved.as_mut().and_then(|saved| saved.last()) {
        drop(cell.inbox.put_back(message));
    }
    if let Some(saved) = saved {
        saved.forget_marks();
    }
}

/// What was put off goes back: it is dropped with the rest of the mailbox, when it is known why the
/// actor ends.
impl<M: Send + 'static> Drop for Mailbox<M> {
    #[inline]
    fn drop(&mut self) {
        if self.saved.is_some() {
            put_back_all(&self.cell, &mut self.saved);
        }
    }
}

impl<M: Send + 'static> AsPid for Mailbox<M> {
    fn pid(&self) -> Pid {
        pid_of(&self.cell)
    }
}

impl<M: Send + 'static> fmt::Debug for Mailbox<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox")
            .field("pid", &self.pid())
            .field("waiting", &self.cell.inbox.len())
            .finish_non_exhaustive()
    }
}
