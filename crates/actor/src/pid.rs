//! An actor without the type of its messages.

use crate::life::{Life, Stage};
use crate::reason::Reason;
use crate::shared::Shared;
use myriad_core::Handle;
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

/// What the runtime of actors asks of an actor, whatever its messages.
///
/// # Safety
/// A value of such a type is made in a `Shared`, and never taken out of that.
pub(crate) unsafe trait Process: Send + Sync {
    fn life(&self) -> &Life;
    /// If the actor traps exits, `exit` becomes a message. Else it comes back.
    fn exit_message(&self, exit: Exit) -> Result<(), Exit>;
    /// The actor was asked to end, and may be idle.
    fn interrupt(&self);
    /// How many messages wait.
    fn queued(&self) -> usize;
    /// Does it wait for a message?
    fn is_at_rest(&self) -> bool;
    fn traps_exits(&self) -> bool;
    /// Of a server: what it is.
    fn served(&self) -> Option<Served> {
        None
    }
    /// The actor gets no message. False: it has ended.
    fn pause(&self) -> bool;
    /// It gets messages again.
    fn resume(&self);
    fn is_paused(&self) -> bool;
    /// The task of its code has ended. If not all have been told of its end, it was left.
    fn was_left(&self);
    /// Of a server: where its turns run.
    fn home(&self) -> Option<Handle> {
        None
    }
    /// Of a server: an order has come.
    fn obey(&self) {}
}

/// What a server is.
#[derive(Clone, Copy)]
pub(crate) struct Served {
    pub(crate) is: TypeId,
    pub(crate) name: &'static str,
    /// How many messages were put in so far.
    pub(crate) position: usize,
}

/// The actor that a process is.
pub(crate) fn this(process: &(dyn Process + 'static)) -> Pid {
    // SAFETY: it lies in a `Shared` (the trait's contract), which is kept by whoever lends it.
    Pid(unsafe { Shared::of(process) })
}

/// An actor, whatever its messages: what is linked, monitored, named, told to end.
///
/// Of one incarnation: an actor that its supervisor has started anew has another one. Cloning
/// copies a reference, which keeps the actor's memory, not the actor.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Mailbox, Pid, Reason};
/// let numbers = actor::spawn(|mut mail: Mailbox<u32>| loop { mail.receive(); });
/// let texts = actor::spawn(|mut mail: Mailbox<String>| loop { mail.receive(); });
/// let all: [Pid; 2] = [numbers.pid(), texts.pid()];
/// for pid in &all {
///     actor::kill(pid);
///     actor::monitor(pid).wait();
///     assert_eq!(pid.reason(), Some(Reason::Killed));
/// }
/// ```
#[derive(Clone)]
pub struct Pid(pub(crate) Shared<dyn Process>);

impl Pid {
    /// Has the actor not ended, and not begun to end?
    pub fn is_alive(&self) -> bool {
        self.life().stage() == Stage::Alive
    }

    /// Its number, which no other actor of this process ever has.
    pub fn id(&self) -> u64 {
        self.life().id()
    }

    /// Its name in the [registry](crate::register), if it has one.
    pub fn name(&self) -> Option<Arc<str>> {
        self.life().name()
    }

    /// Why it has ended; `None` while it is alive.
    pub fn reason(&self) -> Option<Reason> {
        self.life().reason()
    }

    /// How many messages wait in its mailbox. (Not those that a selective receive has put off.)
    pub fn queued(&self) -> usize {
        self.0.queued()
    }

    pub(crate) fn life(&self) -> &Life {
        self.0.life()
    }
}

impl PartialEq for Pid {
    fn eq(&self, other: &Pid) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Pid {}

impl std::hash::Hash for Pid {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "actor '{name}' (#{})", self.id()),
            None => write!(f, "actor #{} (spawned at {})", self.id(), self.life().spawned_at()),
        }
    }
}

impl fmt::Debug for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pid({})", self.id())
    }
}

/// What stands for an actor: a [`Pid`], an [`Address`](crate::Address), a
/// [`Mailbox`](crate::Mailbox), a server's [`Context`](crate::Context).
pub trait AsPid {
    /// The actor.
    fn pid(&self) -> Pid;
}

impl AsPid for Pid {
    fn pid(&self) -> Pid {
        self.clone()
    }
}

/// The end of a linked actor, as a message of one that [traps exits](crate::Mailbox::trap_exits).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    /// Whose end it is, or who has [told](crate::exit) the actor to end.
    pub from: Pid,
    /// Why.
    pub reason: Reason,
}

/// The end of a monitored actor. Examples: [`monitor_name`](crate::monitor_name),
/// [`Mailbox::monitor`](crate::Mailbox::monitor).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Down {
    /// Which of the monitors of that actor this is of.
    pub monitor: u64,
    /// Who has ended.
    pub pid: Pid,
    /// The name that the actor was monitored by, if it was by name.
    pub name: Option<Arc<str>>,
    /// Why; [`Reason::NoProcess`] if the actor had ended before the monitor was made.
    pub reason: Reason,
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "actor #{} has ended: {}", self.pid.id(), self.reason)
    }
}
