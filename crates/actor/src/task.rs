//! Actors that are functions: a closure or a future, with a mailbox.

use crate::address::Address;
use crate::cell::{Cell, Gate, OnFull, call_nested, pid_of, target};
use crate::frame;
use crate::life::Life;
use crate::link::{NoProcess, link};
use crate::mailbox::Mailbox;
use crate::monitor::{Monitor, monitor};
use crate::pid::{AsPid, Pid};
use crate::reason::{Ending, Reason};
use crate::shared::Shared;
use myriad_core::engine::running::UnderWay;
use myriad_core::engine::unwind::{Payload, discard, drop_quietly, end_cancellation, is_cancellation, resume};
use myriad_core::engine::user_code;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

/// Starts an actor that is a closure, and returns its address.
///
/// The closure may block; waiting, it costs a stack ([`spawn_async`] does not). What it returns is
/// the reason of its end: nothing and `Ok(())` are [`Reason::Normal`]. A panic is
/// [`Reason::Panic`]; the actor ends, its partners are told, and if there are none it is reported
/// as that of a detached task.
///
/// # Blocking
/// Never.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reply};
/// enum Message { Add(u64), Total(Reply<u64>), Stop }
///
/// let sum = actor::spawn(|mut mail: Mailbox<Message>| {
///     let mut total = 0;
///     loop {
///         match mail.receive() {
///             Message::Add(n) => total += n,
///             Message::Total(reply) => reply.send(total),
///             Message::Stop => return,
///         }
///     }
/// });
/// sum.cast(Message::Add(1));
/// sum.send(Message::Add(2)).unwrap();
/// assert_eq!(sum.call(Message::Total), Ok(3));
/// sum.cast(Message::Stop);
/// ```
#[track_caller]
pub fn spawn<M, F, E>(body: F) -> Address<M>
where
    M: Send + 'static,
    F: FnOnce(Mailbox<M>) -> E + Send + 'static,
    E: Ending,
{
    Builder::new().spawn(body)
}

/// Starts an actor that is a future: some hundred bytes while it waits, and no stack.
///
/// As [`spawn`] otherwise.
///
/// # Panics
/// If `body` does while it makes the future; the actor has ended then.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox};
/// let (first, last) = myriad::channel::unbounded();
/// let mut next = actor::spawn_async(async move |mut mail: Mailbox<u64>| first.send(mail.receive_async().await));
/// for _ in 0..1000 {
///     let to = next;
///     next = actor::spawn_async(async move |mut mail: Mailbox<u64>| to.cast(mail.receive_async().await + 1));
/// }
/// next.cast(0);
/// assert_eq!(last.recv(), Ok(1000));
/// ```
#[track_caller]
pub fn spawn_async<M, F, Fut>(body: F) -> Address<M>
where
    M: Send + 'static,
    F: FnOnce(Mailbox<M>) -> Fut + Send + 'static,
    Fut: Future<Output: Ending> + Send + 'static,
{
    Builder::new().spawn_async(body)
}

/// How an actor is started: its mailbox, and what is to hold before its first turn.
///
/// # Examples
/// ```
/// use myriad::actor::{Builder, Mailbox, OnFull};
/// let slow = Builder::new().mailbox(1, OnFull::Refuse).spawn(|_: Mailbox<u8>| {
///     myriad::time::sleep(std::time::Duration::from_secs(3600));
/// });
/// slow.send(1).unwrap();
/// assert!(slow.send(2).is_err());
/// myriad::actor::kill(&slow);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until it spawns"]
pub struct Builder {
    limit: Option<(usize, OnFull)>,
    link: Option<Pid>,
}

impl Builder {
    /// An unbounded mailbox, and no link.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Room for so many messages, and what a send does without room. Messages that a selective
    /// receive has put off count. What the runtime of actors sends (exits, downs, timers) comes in
    /// always; [`OnFull::DropOldest`] may drop it later.
    ///
    /// # Panics
    /// If the limit is 0.
    pub fn mailbox(mut self, limit: usize, on_full: OnFull) -> Builder {
        assert!(limit > 0, "a mailbox needs room for a message: give it a limit of 1 or more");
        self.limit = Some((limit, on_full));
        self
    }

    /// Linked to this actor from its first turn on. If that has ended, the new one ends before its
    /// first turn, with [`Reason::NoProcess`].
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, Builder, Mailbox, Reason};
    /// let owner = actor::spawn(|mut mail: Mailbox<()>| loop { mail.receive() });
    /// let (_, end) = Builder::new().link(&owner).spawn_monitor(|mut mail: Mailbox<()>| loop { mail.receive() });
    /// actor::kill(&owner);
    /// assert_eq!(end.wait().reason, Reason::Killed);
    /// ```
    pub fn link(mut self, to: &impl AsPid) -> Builder {
        self.link = Some(to.pid());
        self
    }

    pub(crate) fn gate(&self) -> Option<Gate> {
        self.limit.map(|(limit, on_full)| Gate::new(limit, on_full))
    }

    /// What is to hold before the first turn.
    pub(crate) fn prepare(&self, pid: impl Fn() -> Pid) {
        if let Some(partner) = &self.link
            && let Err(NoProcess) = link(&pid(), partner)
        {
            Life::ask(&pid(), Reason::NoProcess, false);
        }
    }

    /// A cell, with so many references.
    #[inline(always)]
    fn cell<M: Send + 'static, const N: usize>(&self, spawned_at: &'static Location<'static>) -> [Shared<Cell<M>>; N] {
        Shared::several(Cell::new(Life::new(spawned_at), false, self.gate()))
    }

    /// Starts an actor that is a closure: see [`spawn`].
    #[track_caller]
    pub fn spawn<M, F, E>(self, body: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> E + Send + 'static,
        E: Ending,
    {
        self.spawn_and(body, |_| ()).0
    }

    /// Starts an actor that is a closure, with a monitor that was there before its first turn.
    /// Example: [`link`](Self::link).
    #[track_caller]
    pub fn spawn_monitor<M, F, E>(self, body: F) -> (Address<M>, Monitor)
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> E + Send + 'static,
        E: Ending,
    {
        self.spawn_and(body, |cell| monitor(&pid_of(cell)))
    }

    /// Starts an actor that is a closure, with what `before` makes before its first turn.
    #[track_caller]
    fn spawn_and<M, F, E, T>(self, body: F, before: impl FnOnce(&Shared<Cell<M>>) -> T) -> (Address<M>, T)
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> E + Send + 'static,
        E: Ending,
    {
        let [cell, own] = self.cell(Location::caller());
        let actor = Actor { body: ManuallyDrop::new(body), cell: own };
        self.prepare(|| pid_of(&cell));
        let made = before(&cell);
        cell.life.keep_task(myriad_core::spawn(move || actor.run()));
        (Address(target(cell)), made)
    }

    /// Starts an actor that is a future: see [`spawn_async`].
    #[track_caller]
    pub fn spawn_async<M, F, Fut>(self, body: F) -> Address<M>
    where
        M: Send + 'static,
        F: FnOnce(Mailbox<M>) -> Fut + Send + 'static,
        Fut: Future<Output: Ending> + Send + 'static,
    {
        let [cell, own, of_mailbox] = self.cell(Location::caller());
        let future = match user_code::body(|| body(Mailbox::new(of_mailbox))) {
            Ok(future) => ManuallyDrop::new(future),
            Err(payload) => {
                // No task is there that would end it; who has its address waits for that.
                end(&cell, said_by(&payload), None, || ());
                resume(payload)
            }
        };
        let actor = ActorFuture { future, cell: own };
        self.prepare(|| pid_of(&cell));
        drop(myriad_core::spawn_async(actor));
        Address(target(cell))
    }
}

/// Why a turn has ended that did not return.
pub(crate) fn reason_of(mut payload: Payload) -> Reason {
    let reason = said_by(&payload);
    end_cancellation(&mut payload);
    discard(payload);
    reason
}

fn said_by(payload: &Payload) -> Reason {
    if is_cancellation(payload) { Reason::Cancelled } else { Reason::of_panic(&**payload) }
}

/// The whole exit protocol; `state` drops what the actor has. Cancellations are kept off: the task
/// is cancelled for good, if it was, and this is no part of what was to end.
fn end<M: Send + 'static>(cell: &Shared<Cell<M>>, why: Reason, put_off: frame::PutOff, state: impl FnOnce()) {
    let all = || {
        let reason = cell.life.settle(why);
        // (A panic of a destructor changes the reason no more.)
        call_nested(state);
        if let Some(put_off) = put_off {
            drop_quietly(put_off);
        }
        cell.end(&**cell, &reason);
    };
    if let Err(payload) = user_code::call(all) {
        discard(payload);
    }
}

/// A closure, from its spawn to its end: whoever drops it without a turn ends the actor.
struct Actor<M: Send + 'static, F> {
    body: ManuallyDrop<F>,
    cell: Shared<Cell<M>>,
}

impl<M: Send + 'static, F> Actor<M, F> {
    fn run<E: Ending>(self)
    where
        F: FnOnce(Mailbox<M>) -> E,
    {
        let task = UnderWay::here();
        // SAFETY: this task was spawned for it, and closes the inbox before it ends.
        if unsafe { !self.cell.inbox.consume(Some(task)) } {
            return; // `drop`
        }
        let mut this = ManuallyDrop::new(self);
        // SAFETY: both are taken once: `this` is neither dropped nor used afterwards.
        let (body, cell) = unsafe { (ManuallyDrop::take(&mut this.body), std::ptr::read(&raw const this.cell)) };
        let mail = Mailbox::new(cell.clone());
        let turn = || user_code::body(|| body(mail).reason());
        let (result, put_off) = frame::enter(&*cell, task, turn);
        end(&cell, result.unwrap_or_else(reason_of), put_off, || ());
    }
}

impl<M: Send + 'static, F> Drop for Actor<M, F> {
    #[cold]
    fn drop(&mut self) {
        let body = &mut self.body;
        // SAFETY: dropped once, here; `run` forgets the whole.
        end(&self.cell, Reason::Cancelled, None, || unsafe { ManuallyDrop::drop(body) });
    }
}

/// A future, from its spawn to its end: whoever drops it before that ends the actor.
struct ActorFuture<M: Send + 'static, Fut> {
    future: ManuallyDrop<Fut>,
    /// How far it has come stands there: `NEW` and so on. (Here it would take a word.)
    cell: Shared<Cell<M>>,
}

const NEW: u8 = 0;
const BEGUN: u8 = 1;
/// The future was dropped.
const OVER: u8 = 2;

impl<M: Send + 'static, Fut: Future<Output: Ending>> ActorFuture<M, Fut> {
    #[cold]
    #[inline(never)]
    fn begin(&mut self) -> bool {
        self.set_course(BEGUN);
        // SAFETY: this task was spawned for it, and closes the inbox before it ends.
        unsafe { self.cell.inbox.consume(Some(UnderWay::here())) }
    }
}

impl<M: Send + 'static, Fut: Future<Output: Ending>> Future for ActorFuture<M, Fut> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future is not moved; it is dropped where it is, once: its course says so.
        let this = unsafe { self.get_unchecked_mut() };
        if this.course() == NEW && !this.begin() {
            return Poll::Ready(()); // `drop`
        }
        // SAFETY: pinned as the whole is.
        let future = unsafe { Pin::new_unchecked(&mut *this.future) };
        let turn = || user_code::body(|| future.poll(cx).map(Ending::reason));
        let (result, put_off) = frame::enter(&*this.cell, UnderWay::here(), turn);
        match result {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(reason)) => {
                this.finish(reason, put_off);
                Poll::Ready(())
            }
            Err(payload) => {
                this.finish(reason_of(payload), put_off);
                Poll::Ready(())
            }
        }
    }
}

impl<M: Send + 'static, Fut> ActorFuture<M, Fut> {
    #[inline(always)]
    fn course(&self) -> u8 {
        // Relaxed: this task's alone.
        self.cell.life.course.load(Relaxed)
    }

    #[inline(always)]
    fn set_course(&self, course: u8) {
        self.cell.life.course.store(course, Relaxed);
    }

    fn finish(&mut self, why: Reason, put_off: frame::PutOff) {
        if self.course() == OVER {
            return;
        }
        self.set_course(OVER);
        let future = &mut self.future;
        // SAFETY: dropped here, once: its course says so. It is not moved.
        end(&self.cell, why, put_off, || unsafe { ManuallyDrop::drop(future) });
    }
}

impl<M: Send + 'static, Fut> Drop for ActorFuture<M, Fut> {
    fn drop(&mut self) {
        self.finish(Reason::Cancelled, None);
    }
}
