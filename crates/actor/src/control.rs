//! What is done to an actor from outside, beside messages and ends: it is suspended, and its state,
//! of a server, is seen or replaced.
//!
//! **Suspension** is a state of the inbox, which gives its consumer nothing. A mark in the life
//! tells the consumer to look, where it has a message already: a function has put some off, and a
//! turn begins with one. The mark is a hint: it is set before the inbox is paused, and cleared
//! after.
//!
//! **Orders** are functions for the state of a server. An order stands beside the inbox, with the
//! place behind the messages that were there before it, so that it comes in turn; a server that is
//! suspended obeys at once. Who adds an order marks the life, and then starts a consumer if nobody
//! consumes. A consumer looks at the mark when it has left the inbox idle: the lock of the inbox
//! orders the two, so one of them finds the other.

use crate::call::{CallError, Reply, Waits};
use crate::life::{Extra, Life, ORDERS, SUSPENDED};
use crate::link::NoProcess;
use crate::pid::{AsPid, Pid};
use crate::server::Server;
use myriad_core::engine::unwind::{Payload, discard, is_cancellation, resume as resume_unwind};
use myriad_core::engine::user_code;
use myriad_sync::answer::answer;
use std::any::{Any, TypeId};
use std::collections::VecDeque;

/// See the module's header.
#[derive(Default)]
pub(crate) struct Control {
    /// The timer of this number has fired while the server was suspended.
    late: Option<u64>,
    orders: VecDeque<StateOrder>,
    /// What a server that fails has had in hand.
    pub(crate) last_message: Option<String>,
}

/// What is done with the state, a `Server` whose type the order knows.
type Run = Box<dyn FnOnce(&mut dyn Any) + Send>;

/// A function for the state of a server.
pub(crate) struct StateOrder {
    /// Its place: behind so many messages of the inbox.
    behind: usize,
    pub(crate) run: Run,
}

impl Extra {
    pub(crate) fn control(&mut self) -> &mut Control {
        self.control.get_or_insert_default()
    }
}

impl Life {
    /// The next order of a server that has handled so many messages; of one that is suspended, any.
    pub(crate) fn next_order(&self, handled: usize, is_suspended: bool) -> Option<StateOrder> {
        let next = self.with_extra(|extra| {
            let control = extra.control.as_deref_mut()?;
            let first = control.orders.front()?;
            let is_due = handled.wrapping_sub(first.behind).cast_signed() >= 0;
            let order = if is_due || is_suspended { control.orders.pop_front() } else { None };
            if control.orders.is_empty() {
                self.set_mark(ORDERS, false);
            }
            order
        });
        next.flatten()
    }

    /// What is left of the orders at the end.
    pub(crate) fn take_orders(&self) -> VecDeque<StateOrder> {
        let orders = self.with_extra(|extra| extra.control.as_deref_mut().map(|of| std::mem::take(&mut of.orders)));
        orders.flatten().unwrap_or_default()
    }

    /// The timer of this number has fired, and the server is suspended.
    pub(crate) fn set_late(&self, number: u64) {
        self.extra(false, |extra| extra.control().late = Some(number));
    }

    pub(crate) fn take_late(&self) -> Option<u64> {
        self.with_extra(|extra| extra.control.as_deref_mut()?.late.take()).flatten()
    }
}

/// Suspends an actor: it takes no message until it is [resumed](resume).
///
/// What the actor does now it goes on with, and then, where it would take the next message, waits.
/// Messages that come meanwhile are kept, in their order. Ends, links, monitors and names are as
/// before: a suspended actor ends when it is told to, and an exit that it traps is a message.
/// [`with_state`] sees a suspended server, and replaces its state. Time goes on: a limit of a
/// receive or a call, or of [`Next::GoFor`](crate::Next::GoFor), may be over at the resume.
///
/// A second suspension changes nothing, and one resume ends it, as of `sys:suspend` in OTP. But
/// this overtakes the messages that wait: what was sent before may come after the resume.
///
/// # Blocking
/// Never; it does not wait until the actor has come to rest.
///
/// # Errors
/// The actor has ended, or is ending.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Mailbox, Status};
/// let (tx, rx) = myriad::channel::unbounded();
/// let actor = actor::spawn(move |mut mail: Mailbox<u32>| tx.send(mail.receive()));
/// actor::suspend(&actor).unwrap();
/// actor.cast(7);
/// let info = actor.pid().info();
/// assert_eq!((info.status, info.queued), (Status::Suspended, 1));
/// actor::resume(&actor).unwrap();
/// assert_eq!(rx.recv(), Ok(7));
/// ```
pub fn suspend(actor: &impl AsPid) -> Result<(), NoProcess> {
    let pid = actor.pid();
    pid.life().set_mark(SUSPENDED, true);
    if pid.is_alive() && pid.0.pause() { Ok(()) } else { Err(NoProcess) }
}

/// Ends a [suspension](suspend): the actor goes on with the messages that wait. Nothing happens if
/// it is not suspended.
///
/// # Blocking
/// Never.
///
/// # Errors
/// The actor has ended, or is ending.
///
/// Example: [`suspend`].
pub fn resume(actor: &impl AsPid) -> Result<(), NoProcess> {
    let pid = actor.pid();
    if !pid.is_alive() {
        return Err(NoProcess);
    }
    pid.0.resume();
    pid.life().set_mark(SUSPENDED, false);
    if pid.0.is_paused() {
        // (Another one has suspended it anew.)
        pid.life().set_mark(SUSPENDED, true);
    }
    Ok(())
}

/// Sees the state of a server: calls `f` with it, in turn, and returns the answer.
///
/// `f` runs in the server, between two messages: behind those that were sent before, so it sees
/// what they have done; at once, if the server is [suspended](suspend). A panic of `f` is the
/// caller's, and the server goes on. What must answer to others has a message for it: this is for
/// tests, and for looking into a program that runs.
///
/// # Blocking
/// Until the server has handled what came before, or has ended. (For a limit:
/// [`time::timeout`](myriad_core::time::timeout).)
///
/// # Errors
/// [`CallError::WrongState`]: the actor is no server of this type. [`CallError::Deadlock`], as a
/// call; [`CallError::NoProcess`], [`CallError::Exited`]: it has ended.
///
/// # Panics
/// If `f` does.
///
/// # Cancellation
/// A caller that waits unwinds; `f` may be called all the same. A server that ends cancels an `f`
/// that waits.
///
/// # Examples
/// ```
/// use myriad::actor::{self, CallError, Context, Next, Server};
/// struct Count(u32);
/// impl Server for Count {
///     type Message = u32;
///     fn handle(&mut self, n: u32, _: &mut Context<Self>) -> Next<u32> {
///         self.0 += n;
///         Next::Go
///     }
/// }
/// let count = actor::serve(Count(0));
/// count.cast(2);
/// assert_eq!(actor::with_state(&count, |count: &Count| count.0), Ok(2));
/// actor::with_state_mut(&count, |count: &mut Count| count.0 = 40).unwrap();
/// count.cast(2);
/// assert_eq!(actor::with_state(&count, |count: &Count| count.0), Ok(42));
/// # struct Other;
/// # impl Server for Other {
/// #     type Message = ();
/// #     fn handle(&mut self, _: (), _: &mut Context<Self>) -> Next<()> { Next::Go }
/// # }
/// assert_eq!(actor::with_state(&count, |_: &Other| ()), Err(CallError::WrongState));
/// ```
#[doc(alias = "get_state")]
#[track_caller]
pub fn with_state<S: Server, R: Send + 'static>(
    server: &impl AsPid,
    f: impl FnOnce(&S) -> R + Send + 'static,
) -> Result<R, CallError> {
    order(&server.pid(), look(f))?.map_or_else(|payload| resume_unwind(payload), Ok)
}

/// As [`with_state`], as a future. Dropped, nobody waits for the answer any more; `f` may be called
/// all the same.
///
/// # Errors
/// As [`with_state`]. A circle is found where its calls block; one that goes over a future is not.
///
/// # Panics
/// If `f` does, where the future is polled.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Context, Next, Server};
/// struct Count(u32);
/// impl Server for Count {
///     type Message = u32;
///     fn handle(&mut self, n: u32, _: &mut Context<Self>) -> Next<u32> {
///         self.0 += n;
///         Next::Go
///     }
/// }
/// let count = actor::serve(Count(40));
/// count.cast(2);
/// let seen = myriad::block_on(async {
///     actor::with_state_mut_async(&count, |count: &mut Count| count.0 *= 10).await?;
///     actor::with_state_async(&count, |count: &Count| count.0).await
/// });
/// assert_eq!(seen, Ok(420));
/// ```
pub async fn with_state_async<S: Server, R: Send + 'static>(
    server: &impl AsPid,
    f: impl FnOnce(&S) -> R + Send + 'static,
) -> Result<R, CallError> {
    order_async(server.pid(), look(f)).await?.map_or_else(|payload| resume_unwind(payload), Ok)
}

/// What [`with_state`] does in the server: a panic of `f` is an answer.
fn look<S, R: Send + 'static>(f: impl FnOnce(&S) -> R) -> impl FnOnce(&mut S, Reply<Result<R, Payload>>) {
    move |state, reply| {
        let seen = match user_code::body(|| f(state)) {
            Err(payload) if is_cancellation(&payload) => resume_unwind(payload),
            seen => seen,
        };
        match reply.try_send(seen) {
            Ok(()) => {}
            Err(Ok(nobodys)) => user_code::run("an unwanted result", || drop(nobodys)),
            Err(Err(payload)) => discard(payload),
        }
    }
}

/// Changes the state of a server, or replaces it: as [`with_state`], with a state that `f` may
/// change.
///
/// A panic of `f` ends the server with [`Reason::Panic`](crate::Reason::Panic), as one of its
/// handlers, because it may leave the state half changed; the caller gets
/// [`CallError::Exited`]. (`sys:replace_state` in OTP, whose states are not changed in place, goes
/// on with the old one.)
///
/// # Blocking
/// As [`with_state`].
///
/// # Errors
/// As [`with_state`].
///
/// Example: [`with_state`].
#[doc(alias = "replace_state")]
#[track_caller]
pub fn with_state_mut<S: Server, R: Send + 'static>(
    server: &impl AsPid,
    f: impl FnOnce(&mut S) -> R + Send + 'static,
) -> Result<R, CallError> {
    order(&server.pid(), move |state: &mut S, reply: Reply<R>| reply.send(f(state)))
}

/// As [`with_state_mut`], as a future. Dropped, nobody waits for the answer any more; `f` may be
/// called all the same.
///
/// # Errors
/// As [`with_state_async`].
///
/// Example: [`with_state_async`].
pub async fn with_state_mut_async<S: Server, R: Send + 'static>(
    server: &impl AsPid,
    f: impl FnOnce(&mut S) -> R + Send + 'static,
) -> Result<R, CallError> {
    order_async(server.pid(), move |state: &mut S, reply: Reply<R>| reply.send(f(state))).await
}

/// Gives an order, and waits for its answer.
#[track_caller]
fn order<S: Server, R: Send + 'static>(
    pid: &Pid,
    f: impl FnOnce(&mut S, Reply<R>) + Send + 'static,
) -> Result<R, CallError> {
    let mut waits = Waits::begin(false, || pid.clone())?;
    let (sender, receiver) = answer();
    give(pid, waits.reply(sender), f)?;
    receiver.recv(None).map_err(|_| unanswered(pid))
}

/// The same as a future.
async fn order_async<S: Server, R: Send + 'static>(
    pid: Pid,
    f: impl FnOnce(&mut S, Reply<R>) + Send + 'static,
) -> Result<R, CallError> {
    let (sender, receiver) = answer();
    give(&pid, Reply::new(sender), f)?;
    receiver.recv_async().await.map_err(|_| unanswered(&pid))
}

fn give<S: Server, R: Send + 'static>(
    pid: &Pid,
    reply: Reply<R>,
    f: impl FnOnce(&mut S, Reply<R>) + Send + 'static,
) -> Result<(), CallError> {
    let run = Box::new(move |state: &mut dyn Any| {
        if let Some(state) = state.downcast_mut() {
            f(state, reply);
        }
    });
    let served = pid.0.served().filter(|served| served.is == TypeId::of::<S>()).ok_or(CallError::WrongState)?;
    let mut order = Some(StateOrder { behind: served.position, run });
    let given = pid.life().extra(false, |extra| {
        extra.control().orders.extend(order.take());
        pid.life().set_mark(ORDERS, true);
    });
    given.ok_or(CallError::NoProcess)?;
    pid.0.obey();
    Ok(())
}

fn unanswered(pid: &Pid) -> CallError {
    pid.reason().map_or(CallError::NoReply, CallError::Exited)
}
