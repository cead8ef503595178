//! Calls: a message with a way back, and the wait for what comes back.
//!
//! **Deadlocks.** While an actor waits for a reply its life says from whom. A call looks first
//! along that chain, from the actor that is called: if the chain comes back to the caller, all of
//! them would wait for ever, and the call is refused. Each link is written before the look and
//! under the lock of its life, so of two calls that close a circle at the same time one finds it.

use crate::address::Address;
use crate::frame::{all_current, put_off};
use crate::pid::{AsPid, Pid};
use crate::reason::Reason;
use myriad_core::time::{self, Instant};
use myriad_sync::channel::{OnceSender, Receiver, RecvTimeoutError, oneshot};
use std::fmt;
use std::time::Duration;

/// Where the answer to a call goes. It is part of the message; whoever has it may answer, at once
/// or later, in the handler or elsewhere.
///
/// Dropped without an answer, the caller gets [`CallError::NoReply`], or, if the actor has failed
/// with it in hand, the reason of that.
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
    sender: Option<OnceSender<T>>,
}

impl<T: Send + 'static> Reply<T> {
    pub(crate) fn new(sender: OnceSender<T>) -> Reply<T> {
        Reply { sender: Some(sender) }
    }

    /// Answers. Where nobody waits any more (the caller's time was over, or it has ended), the
    /// value is dropped.
    pub fn send(self, value: T) {
        drop(self.try_send(value));
    }

    /// Answers.
    ///
    /// # Errors
    /// Nobody waits any more: the value comes back.
    pub fn try_send(mut self, value: T) -> Result<(), T> {
        let sender = self.sender.take().expect("a reply is sent once");
        sender.send(value).map_err(|error| error.0)
    }

    /// Does nobody wait any more? Then the work for the answer can be saved.
    pub fn is_closed(&self) -> bool {
        self.sender.as_ref().is_none_or(OnceSender::is_closed)
    }
}

impl<T: Send + 'static> Drop for Reply<T> {
    fn drop(&mut self) {
        // (If a panic drops it, the actor ends, and its caller is to hear why.)
        if let Some(sender) = self.sender.take()
            && std::thread::panicking()
        {
            drop(put_off(sender));
        }
    }
}

/// Why a call has brought nothing.
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
    /// one first, would have waited for each other for ever. One that calls itself is alone here.
    Deadlock(Vec<Pid>),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::NoProcess => f.write_str("the actor had ended before the call"),
            CallError::Exited(reason) => write!(f, "the actor has ended: {reason}"),
            CallError::NoReply => f.write_str("the actor has dropped the call without an answer"),
            CallError::Timeout => f.write_str("the actor has not answered in time"),
            CallError::Full => f.write_str("the actor's mailbox is full"),
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
        let _waits = Waits::begin(self.0.life(), || self.pid())?;
        let (sender, receiver) = oneshot();
        let message = message(Reply::new(sender));
        match self.0.run_here(message) {
            Ok(()) => {}
            Err(message) => self.send(message).map_err(|_| self.refused())?,
        }
        receiver.recv().map_err(|_| self.unanswered())
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
        let _waits = Waits::begin(self.0.life(), || self.pid())?;
        let (receiver, message) = with_reply(message);
        match self.send_deadline(message, deadline) {
            Ok(()) => {}
            Err(Timeout(_)) => return Err(CallError::Timeout),
            Err(_) => return Err(self.refused()),
        }
        receiver.recv_deadline(deadline).map_err(|error| match error {
            RecvTimeoutError::Timeout => CallError::Timeout,
            RecvTimeoutError::Closed => self.unanswered(),
        })
    }

    /// As [`call`](Self::call), as a future. Dropped, nobody waits for the answer any more.
    ///
    /// # Errors
    /// As there. A circle is found where its calls block; one that goes over a future is not.
    pub async fn call_async<T: Send + 'static>(&self, message: impl FnOnce(Reply<T>) -> M) -> Result<T, CallError> {
        let (receiver, message) = with_reply(message);
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

fn with_reply<T: Send + 'static, M>(message: impl FnOnce(Reply<T>) -> M) -> (Receiver<T>, M) {
    let (sender, receiver) = oneshot();
    (receiver, message(Reply::new(sender)))
}

/// The actors that run here wait for a reply until this is dropped.
struct Waits(Vec<Pid>);

impl Waits {
    /// Nothing, where no actor runs. `Err`: the caller would wait for itself.
    #[inline]
    fn begin(life: &crate::life::Life, called: impl FnOnce() -> Pid) -> Result<Waits, CallError> {
        let callers = all_current();
        if callers.is_empty() {
            return Ok(Waits(callers));
        }
        let called = called();
        debug_assert_eq!(called.id(), life.id());
        for caller in &callers {
            caller.life().extra(true, |extra| extra.waits_for = Some(called.clone()));
        }
        let waits = Waits(callers);
        waits.look(called).map_or(Ok(waits), |circle| Err(CallError::Deadlock(circle)))
    }

    /// The circle that the callers would close.
    fn look(&self, called: Pid) -> Option<Vec<Pid>> {
        let mut chain = vec![called];
        loop {
            let last = &chain[chain.len() - 1];
            if self.0.contains(last) {
                return Some(chain);
            }
            let next = last.life().with_extra(|extra| extra.waits_for.clone()).flatten()?;
            if chain.contains(&next) {
                return None; // a circle of others, who find it themselves
            }
            chain.push(next);
        }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        for caller in &self.0 {
            // (The address is dropped without the lock.)
            drop(caller.life().with_extra(|extra| extra.waits_for.take()));
        }
    }
}
