//! Links: two actors that end together.

use crate::frame::current;
use crate::life::Life;
use crate::pid::{AsPid, Exit, Pid};
use crate::reason::Reason;
use myriad_base::hash::Numbers;
use std::fmt;

/// The partners of an actor. Most have none or one.
#[derive(Default)]
pub(crate) enum Links {
    #[default]
    None,
    One(Pid),
    Many(Box<Numbers<u64, Pid>>),
}

impl Links {
    fn insert(&mut self, pid: &Pid) {
        *self = match std::mem::take(self) {
            Links::None => Links::One(pid.clone()),
            Links::One(first) if first == *pid => Links::One(first),
            Links::One(first) => {
                let both = [first, pid.clone()].map(|pid| (pid.id(), pid));
                Links::Many(Box::new(both.into_iter().collect()))
            }
            Links::Many(mut many) => {
                many.insert(pid.id(), pid.clone());
                Links::Many(many)
            }
        }
    }

    /// True: it was there.
    pub(crate) fn remove(&mut self, pid: &Pid) -> bool {
        match self {
            Links::One(first) if first == pid => {
                *self = Links::None;
                true
            }
            Links::Many(many) => many.remove(&pid.id()).is_some(),
            _ => false,
        }
    }

    pub(crate) fn pids(&self) -> Vec<Pid> {
        match self {
            Links::None => Vec::new(),
            Links::One(pid) => vec![pid.clone()],
            Links::Many(many) => many.values().cloned().collect(),
        }
    }
}

impl IntoIterator for Links {
    type Item = Pid;
    type IntoIter = std::vec::IntoIter<Pid>;
    fn into_iter(self) -> Self::IntoIter {
        match self {
            Links::None => Vec::new(),
            Links::One(pid) => vec![pid],
            Links::Many(many) => many.into_values().collect(),
        }
        .into_iter()
    }
}

/// There is no such actor any more.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, NoProcess};
/// let actor = actor::spawn(|_: Mailbox<()>| ());
/// actor::monitor(&actor).wait();
/// assert_eq!(actor::join_group("doc-ended", &actor), Err(NoProcess));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoProcess;

impl fmt::Display for NoProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no such actor any more")
    }
}

impl std::error::Error for NoProcess {}

/// Links two actors: when one of them ends with another reason than [`Reason::Normal`], the other
/// one is told to end with the same, or gets a message if it
/// [traps exits](crate::Mailbox::trap_exits).
///
/// A second link between the same two is the same link. An actor is not linked to itself: nothing
/// happens.
///
/// # Blocking
/// Never.
///
/// # Errors
/// One of them has ended, or is ending.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason};
/// let forever = |mut mail: Mailbox<()>| loop { mail.receive() };
/// let (a, b) = (actor::spawn(forever), actor::spawn(forever));
/// actor::link(&a, &b).unwrap();
/// let watch = actor::monitor(&b);
/// actor::exit(&a, Reason::of("out of paper"));
/// assert_eq!(watch.wait().reason, Reason::of("out of paper"));
/// ```
pub fn link(a: &impl AsPid, b: &impl AsPid) -> Result<(), NoProcess> {
    let (a, b) = (a.pid(), b.pid());
    if a == b {
        return if a.is_alive() { Ok(()) } else { Err(NoProcess) };
    }
    let linked = Life::both(a.life(), b.life(), |of_a, of_b| {
        of_a.links.insert(&b);
        of_b.links.insert(&a);
    });
    linked.ok_or(NoProcess)
}

/// Takes a link away. Afterwards neither of the two is told of the other's end, also if that end
/// has begun; a message that came before stays in its mailbox. True: they were linked.
///
/// # Blocking
/// Never.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Mailbox};
/// let forever = |mut mail: Mailbox<()>| loop { mail.receive() };
/// let (a, b) = (actor::spawn(forever), actor::spawn(forever));
/// actor::link(&a, &b).unwrap();
/// assert_eq!(b.pid().info().links, [a.pid()]);
/// assert!(actor::unlink(&a, &b));
/// actor::kill(&a);
/// actor::monitor(&a).wait();
/// assert!(b.is_alive());
/// ```
pub fn unlink(a: &impl AsPid, b: &impl AsPid) -> bool {
    let (a, b) = (a.pid(), b.pid());
    if a == b {
        return false;
    }
    // One after the other: who ends takes its own list, and tells only a partner that has it still.
    let of_a = a.life().with_extra(|extra| extra.links.remove(&b)).unwrap_or(false);
    let of_b = b.life().with_extra(|extra| extra.links.remove(&a)).unwrap_or(false);
    of_a || of_b
}

/// An end of another arrives at `pid`.
pub(crate) fn deliver(pid: &Pid, exit: Exit) {
    if let Err(exit) = pid.0.exit_message(exit)
        && !exit.reason.is_normal()
    {
        Life::ask(pid, exit.reason, false);
    }
}

/// Tells an actor to end with this reason.
///
/// An actor that [traps exits](crate::Mailbox::trap_exits) gets a message instead. To another actor
/// that does not, [`Reason::Normal`] is nothing; to the caller itself it is the end. One that
/// blocks ends there, by unwinding; one that computes, at its next
/// [checkpoint](myriad_core::cancel). This overtakes the messages that wait.
///
/// # Blocking
/// Never; it does not wait for the end.
///
/// # Cancellation
/// If the caller tells itself, and does not trap exits, it unwinds here; a handler that runs in
/// place, on the stack of its caller, ends the server when it returns.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason};
/// let actor = actor::spawn(|mut mail: Mailbox<()>| loop { mail.receive() });
/// let end = actor::monitor(&actor);
/// actor::exit(&actor, Reason::Normal);       // nothing: another actor's normal end
/// actor::exit(&actor, Reason::Shutdown);
/// assert_eq!(end.wait().reason, Reason::Shutdown);
/// ```
#[doc(alias = "stop")]
pub fn exit(actor: &impl AsPid, reason: Reason) {
    let pid = actor.pid();
    let me = current();
    let from = me.clone().unwrap_or_else(|| pid.clone());
    if me.as_ref() != Some(&pid) {
        return deliver(&pid, Exit { from, reason });
    }
    if pid.0.exit_message(Exit { from, reason: reason.clone() }).is_err() {
        Life::ask(&pid, reason, true);
        drop((me, pid));
        myriad_core::cancel::check();
    }
}

/// Ends an actor, whether it traps exits or not. Its partners see [`Reason::Killed`], which is a
/// reason like any other: one that traps exits gets a message.
///
/// It ends by unwinding, from its next [checkpoint](myriad_core::cancel); one that never comes to a
/// checkpoint cannot be ended. A handler that runs in place, on the stack of its caller, is ended
/// when it returns.
///
/// # Blocking
/// Never; it does not wait for the end.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason};
/// let actor = actor::spawn(|mut mail: Mailbox<()>| loop { mail.receive() });
/// let watch = actor::monitor(&actor);
/// actor::kill(&actor);
/// assert_eq!(watch.wait().reason, Reason::Killed);
/// ```
pub fn kill(actor: &impl AsPid) {
    Life::ask(&actor.pid(), Reason::Killed, false);
}
