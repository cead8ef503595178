//! Calls: a message with a way back, and the wait for what comes back.
//!
//! **Deadlocks.** While an actor waits in a call its life says in which. A call looks first along
//! that chain, from the actor that is called: if the chain comes back to the caller, all of them
//! would wait for ever, and the call is refused. Each link is written before the look and under
//! the lock of its life, so of two calls that close a circle at the same time one finds it. A call
//! whose answer was sent is no link, though its caller may not have gone on yet; but while the
//! handler runs in place, its caller waits for the handler's return. Calls of an actor are nested:
//! one that returns leaves the one around it as the actor's wait.

use crate::address::Address;
use crate::cell::put_from;
use crate::frame::{current, is_free_of_actors, put_off, runs_here};
use crate::pid::{AsPid, Pid};
use crate::reason::Reason;
use crate::shared::Shared;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use myriad_sync::answer::{AnswerSender, NoAnswer, ReceiverHere, answer, answer_here};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Where the answer to a call goes. It is part of the message; whoever has it may answer, at once
/// or later, in the handler or elsewhere.
///
/// Dropped without an answer, the caller gets [`CallError::NoReply`], or, if the actor has failed
/// with it in hand, the reason of that. (If the actor catches the panic that drops it, the caller
/// gets `NoReply` when the actor receives again, or its handler is done.)
///
/// # Examples
/// ```
/// use myriad::actor::{self, CallError, Mailbox, Reply};
/// let shy = actor::spawn(|mut mail: Mailbox<Reply<u8>>| {
///     drop(mail.receive());
///     mail.receive().send(2)
/// });
/// assert_eq!(shy.call(|reply| reply), Err(CallError::NoReply));
/// assert_eq!(shy.call(|reply| reply), Ok(2));
/// ```
#[derive(Debug)]
#[must_use = "a reply that is dropped is an error of its caller"]
pub struct Reply<T: Send + 'static> {
    /// `None` once it is used. (The word comes before the answer does, in a drop, too.)
    way: Option<(Answered, AnswerSender<T>)>,
}

/// Dropped, it says of a call that the answer is sent, or never comes.
struct Answered(Option<Shared<Progress>>);

impl fmt::Debug for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Answered").field(&self.0.as_deref()).finish()
    }
}

impl Drop for Answered {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            // Relaxed: who calls after the answer goes on from it, so that one sees this.
            progress.is_answered.store(true, Relaxed);
        }
    }
}

/// How far the call of an actor has come.
#[derive(Debug)]
struct Progress {
    is_answered: AtomicBool,
    /// A handler runs, or may run, on top of the caller.
    is_in_place: AtomicBool,
}

/// What an actor waits for: a call of this one.
pub(crate) struct Call {
    called: Pid,
    progress: Shared<Progress>,
}

impl Call {
    /// The actor whose answer is still waited for.
    pub(crate) fn waited_for(&self) -> Option<Pid> {
        self.is_waited_for().then(|| self.called.clone())
    }

    fn is_waited_for(&self) -> bool {
        // Relaxed: see `Answered`; of the other one only the caller's own word counts.
        self.progress.is_in_place.load(Relaxed) || !self.progress.is_answered.load(Relaxed)
    }
}

impl<T: Send + 'static> Reply<T> {
    pub(crate) fn new(sender: AnswerSender<T>) -> Reply<T> {
        Reply { way: Some((Answered(None), sender)) }
    }

    /// Answers. Where nobody waits any more (the caller's time was over, or it has ended), the
    /// value is dropped.
    #[inline]
    pub fn send(self, value: T) {
        drop(self.try_send(value));
    }

    /// Answers.
    ///
    /// # Errors
    /// Nobody waits any more: the value comes back.
    #[inline]
    pub fn try_send(self, value: T) -> Result<(), T> {
        // Here, and not in the sender's `send`: who is killed in it drops a reply that is whole,
        // and its caller hears why.
        Caller::get().spend();
        let mut this = ManuallyDrop::new(self);
        let (answered, sender) = this.way.take().expect("a reply is sent once");
        drop(answered);
        sender.send_unspent(value)
    }

    /// Does nobody wait any more? Then the work for the answer can be saved.
    pub fn is_closed(&self) -> bool {
        self.way.as_ref().is_none_or(|(_, sender)| sender.is_closed())
    }
}

impl<T: Send + 'static> Drop for Reply<T> {
    fn drop(&mut self) {
        // (If a panic drops it, the actor ends most often, and its caller is to hear why.)
        if let Some(way) = self.way.take()
            && std::thread::panicking()
        {
            drop(put_off(way));
        }
    }
}

/// Why a call has brought nothing.
///
/// # Examples
/// ```
/// use myriad::actor::{self, CallError, Mailbox, Reason, Reply};
/// use std::time::Duration;
/// let actor = actor::spawn(|mut mail: Mailbox<Reply<u8>>| {
///     let first = mail.receive();          // is not answered
///     let second = mail.receive();
///     panic!("no paper");
/// });
/// let limit = Duration::from_millis(1);
/// assert_eq!(actor.call_timeout(limit, |reply| reply), Err(CallError::Timeout));
/// let second = actor.call(|reply| reply);
/// assert!(matches!(second, Err(CallError::Exited(Reason::Panic(text))) if &**text == "no paper"));
/// actor::monitor(&actor).wait();
/// assert_eq!(actor.call(|reply| reply), Err(CallError::NoProcess));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The actor had ended before the call.
    NoProcess,
    /// It has ended for this reason, and has not answered.
    Exited(Reason),
    /// It has dropped the [`Reply`], and is alive.
    NoReply,
    /// The time was over. The actor may answer still; nobody hears it.
    Timeout,
    /// Its mailbox is full, and refuses.
    Full,
    /// The called actor waits for the caller, perhaps by way of others. All of these, the called
    /// one first, would have waited for each other for ever: if each answers itself, and not by a
    /// task that has its [`Reply`]. (Then call by
    /// [`call_async`](Address::call_async), which looks for no circles.) One that calls itself is
    /// alone here.
    Deadlock(Vec<Pid>),
    /// Of [`with_state`](crate::with_state): the actor is no server of the type that was asked for.
    WrongState,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::NoProcess => f.write_str("the actor had ended before the call"),
            CallError::Exited(reason) => write!(f, "the actor has ended: {reason}"),
            CallError::NoReply => f.write_str("the actor has dropped the call without an answer"),
            CallError::Timeout => f.write_str("the actor has not answered in time"),
            CallError::Full => f.write_str("the actor's mailbox is full"),
            CallError::WrongState => f.write_str("the actor is no server whose state is of this type"),
            CallError::Deadlock(circle) => {
                f.write_str("these actors would wait for each other for ever:")?;
                circle.iter().try_for_each(|pid| write!(f, " {pid};"))?;
                f.write_str(" let one of them send a message, or answer before it calls")
            }
        }
    }
}

impl std::error::Error for CallError {}

impl<M: Send + 'static> Address<M> {
    /// Sends a message with a [`Reply`], and waits for the answer.
    ///
    /// A server that is idle handles the message right here, on top of the caller, if the call has
    /// no time limit and the server [allows](crate::Server::CALL_IN_PLACE) that.
    ///
    /// # Blocking
    /// Until the answer comes, or the actor has ended.
    ///
    /// # Errors
    /// See [`CallError`].
    ///
    /// # Cancellation
    /// A caller that waits unwinds, and the answer goes nowhere.
    #[track_caller]
    pub fn call<T: Send + 'static>(&self, message: impl FnOnce(Reply<T>) -> M) -> Result<T, CallError> {
        if !is_free_of_actors() {
            return self.call_by_actor(message);
        }
        let (receiver, message) = with_reply(Answered(None), message);
        self.give(message, || ())?;
        receiver.recv().ok_or_else(|| self.unanswered())
    }

    /// The same where an actor may run.
    #[track_caller]
    #[inline(never)]
    fn call_by_actor<T: Send + 'static>(&self, message: impl FnOnce(Reply<T>) -> M) -> Result<T, CallError> {
        let mut waits = Waits::begin(true, || self.pid())?;
        let (receiver, message) = with_reply(waits.answered(), message);
        self.give(message, || waits.leave_place())?;
        receiver.recv().ok_or_else(|| self.unanswered())
    }

    /// Has the message handled in place, or sends it. `not_in_place`: from here on it is not, or
    /// not any more.
    #[track_caller]
    #[inline(always)]
    fn give(&self, message: M, not_in_place: impl FnOnce()) -> Result<(), CallError> {
        // SAFETY: the message is there, and not used any more if it was moved.
        let ran = unsafe { self.0.run_here(&raw const message) };
        not_in_place();
        // (By its address, as in `cast`.)
        // SAFETY: the message is there, if it was not moved, and not used any more if it was.
        let moved =
            ran || unsafe { self.0.start_here(&raw const message) || self.put_if_unlimited(&raw const message) };
        if !moved {
            return self.give_bounded(message);
        }
        std::mem::forget(message);
        Ok(())
    }

    /// Puts it in, if the mailbox has no limit, and the actor has not ended: true.
    ///
    /// # Safety
    /// As for [`put_from`].
    #[track_caller]
    #[inline(always)]
    unsafe fn put_if_unlimited(&self, message: *const M) -> bool {
        let cell = self.0.cell();
        // SAFETY: this function's contract.
        cell.gate.is_none() && unsafe { put_from(&*self.0, cell, message) }
    }

    /// Where the mailbox has a limit, or the actor has ended.
    #[track_caller]
    #[inline(never)]
    fn give_bounded(&self, message: M) -> Result<(), CallError> {
        self.send(message).map_err(|_| self.refused())
    }

    /// As [`call`](Self::call), for so long in all.
    ///
    /// # Errors
    /// As there; or the time was over.
    #[track_caller]
    pub fn call_timeout<T: Send + 'static>(
        &self,
        limit: Duration,
        message: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, CallError> {
        self.call_deadline(time::now() + limit, message)
    }

    /// As [`call`](Self::call), until then.
    ///
    /// # Errors
    /// As there; or the time was over.
    #[track_caller]
    pub fn call_deadline<T: Send + 'static>(
        &self,
        deadline: Instant,
        message: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, CallError> {
        use myriad_sync::channel::SendTimeoutError::Timeout;
        let mut waits = Waits::begin(false, || self.pid())?;
        let (receiver, message) = with_reply(waits.answered(), message);
        match self.send_deadline(message, deadline) {
            Ok(()) => {}
            Err(Timeout(_)) => return Err(CallError::Timeout),
            Err(_) => return Err(self.refused()),
        }
        receiver.recv_deadline(deadline).map_err(|error| match error {
            NoAnswer::Timeout => CallError::Timeout,
            NoAnswer::Gone => self.unanswered(),
        })
    }

    /// As [`call`](Self::call), as a future. Dropped, nobody waits for the answer any more.
    ///
    /// # Errors
    /// As there. A circle is found where its calls block; one that goes over a future is not.
    pub async fn call_async<T: Send + 'static>(&self, message: impl FnOnce(Reply<T>) -> M) -> Result<T, CallError> {
        let (sender, receiver) = answer();
        let message = message(Reply::new(sender));
        self.send_async(message).await.map_err(|_| self.refused())?;
        receiver.recv_async().await.map_err(|_| self.unanswered())
    }

    /// As [`call_timeout`](Self::call_timeout), as a future.
    ///
    /// # Errors
    /// As there.
    pub async fn call_timeout_async<T: Send + 'static>(
        &self,
        limit: Duration,
        message: impl FnOnce(Reply<T>) -> M,
    ) -> Result<T, CallError> {
        let called = time::timeout_async(limit, self.call_async(message)).await;
        called.unwrap_or(Err(CallError::Timeout))
    }

    fn refused(&self) -> CallError {
        if self.is_alive() { CallError::Full } else { CallError::NoProcess }
    }

    fn unanswered(&self) -> CallError {
        self.0.life().reason().map_or(CallError::NoReply, CallError::Exited)
    }
}

/// For a call that blocks.
#[inline(always)]
fn with_reply<T: Send + 'static, M>(answered: Answered, message: impl FnOnce(Reply<T>) -> M) -> (ReceiverHere<T>, M) {
    let (sender, receiver) = answer_here();
    (receiver, message(Reply { way: Some((answered, sender)) }))
}

/// The actor that runs here waits in a call until this is dropped.
pub(crate) struct Waits {
    caller: Option<(Pid, Shared<Progress>)>,
    /// For the reply.
    answered: Answered,
    /// The call around this one, while this one stands in its place.
    outer: Option<Call>,
}

impl Waits {
    /// Nothing, where no actor runs. `Err`: the caller would wait for itself.
    #[inline]
    pub(crate) fn begin(is_in_place: bool, called: impl FnOnce() -> Pid) -> Result<Waits, CallError> {
        let Some(caller) = current() else { return Ok(Waits { caller: None, answered: Answered(None), outer: None }) };
        let called = called();
        let progress = Progress { is_answered: AtomicBool::new(false), is_in_place: AtomicBool::new(is_in_place) };
        // (By these, and not an `Arc` that is cloned: so much is paid for each call of an actor.)
        let [of_call, of_reply, progress] = Shared::several(progress);
        let mut call = Some(Call { called: called.clone(), progress: of_call });
        caller.life().extra(true, |extra| std::mem::swap(&mut extra.waits_for, &mut call));
        let waits = Waits { caller: Some((caller, progress)), answered: Answered(Some(of_reply)), outer: call };
        circle_of(&called).map_or(Ok(waits), |circle| Err(CallError::Deadlock(circle)))
    }

    /// For the reply of this call, once.
    fn answered(&mut self) -> Answered {
        Answered(self.answered.0.take())
    }

    /// The reply of this call, once.
    pub(crate) fn reply<T: Send + 'static>(&mut self, sender: AnswerSender<T>) -> Reply<T> {
        Reply { way: Some((self.answered(), sender)) }
    }

    /// The handler has not run in place, or has returned.
    fn leave_place(&self) {
        if let Some((_, progress)) = &self.caller {
            // Relaxed: a look that comes earlier finds the caller as it was then.
            progress.is_in_place.store(false, Relaxed);
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if let Some((caller, _)) = &self.caller {
            // (The address is dropped without the lock.)
            let mut call = self.outer.take();
            caller.life().with_extra(|extra| std::mem::swap(&mut extra.waits_for, &mut call));
        }
    }
}

/// The circle that the calling task closes with a call of this actor.
fn circle_of(called: &Pid) -> Option<Vec<Pid>> {
    if runs_here(called) {
        return Some(vec![called.clone()]);
    }
    // (Nothing is allocated where the called one waits for nobody.)
    let mut next = waits_for(called)?;
    let mut chain = vec![called.clone()];
    loop {
        if chain.contains(&next) {
            return None; // a circle of others, who find it themselves
        }
        chain.push(next);
        let last = &chain[chain.len() - 1];
        if runs_here(last) {
            return Some(chain);
        }
        next = waits_for(last)?;
    }
}

/// The actor whose answer this one waits for.
fn waits_for(actor: &Pid) -> Option<Pid> {
    actor.life().with_extra(|extra| extra.waits_for.as_ref().and_then(Call::waited_for)).flatten()
}
