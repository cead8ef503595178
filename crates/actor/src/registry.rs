//! Names: which actor is meant by a text.
//!
//! One table for the process, under a lock of its own, which is taken before that of a life and
//! under which nothing of the user's runs. A name stands in the table and in the life of its actor;
//! the [exit protocol](crate::life) takes it out of both before it tells anybody.

use crate::address::Address;
use crate::life::{AtEnd, number};
use crate::link::NoProcess;
use crate::monitor::{Monitor, monitor_as};
use crate::pid::{AsPid, Pid};
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_sync::channel::SendError;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

struct Named {
    pid: Pid,
    /// Its `Address<M>`.
    address: Arc<dyn Any + Send + Sync>,
    /// Of what the actor does at its end.
    at_end: u64,
}

type Names = HashMap<Arc<str>, Named>;

fn names() -> MutexGuard<'static, Names> {
    static NAMES: LazyLock<Mutex<Names>> = LazyLock::new(Mutex::default);
    NAMES.lock()
}

/// Why a name was not given.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Mailbox, NameError};
/// let forever = |mut mail: Mailbox<()>| loop { mail.receive() };
/// let (a, b) = (actor::spawn(forever), actor::spawn(forever));
/// actor::register("doc-a", &a).unwrap();
/// assert_eq!(actor::register("doc-a", &b), Err(NameError::Taken(a.pid())));
/// assert_eq!(actor::register("doc-b", &a), Err(NameError::HasName("doc-a".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// This actor has it.
    Taken(Pid),
    /// The actor has this name already, and may have one.
    HasName(Arc<str>),
    /// The actor has ended, or is ending.
    NoProcess,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NameError::Taken(pid) => write!(f, "the name is taken by actor #{}", pid.id()),
            NameError::HasName(name) => write!(f, "the actor has a name already: '{name}'"),
            NameError::NoProcess => NoProcess.fmt(f),
        }
    }
}

impl std::error::Error for NameError {}

/// Gives an actor a name, until it ends. A name has one actor, and an actor one name.
///
/// # Blocking
/// Never.
///
/// # Errors
/// See [`NameError`].
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox};
/// let actor = actor::spawn(|mut mail: Mailbox<u32>| assert_eq!(mail.receive(), 7));
/// actor::register("doc-seven", &actor).unwrap();
/// assert_eq!(actor::whereis::<u32>("doc-seven"), Some(actor.clone()));
/// assert_eq!(actor::whereis::<String>("doc-seven"), None);
/// actor::send_to("doc-seven", 7_u32).unwrap();
/// actor::monitor(&actor).wait();
/// assert_eq!(actor::whereis_pid("doc-seven"), None);
/// ```
pub fn register<M: Send + 'static>(name: &str, actor: &Address<M>) -> Result<(), NameError> {
    let (name, pid): (Arc<str>, Pid) = (Arc::from(name), actor.pid());
    let named = Named { pid: pid.clone(), address: Arc::new(actor.clone()), at_end: number() };
    let mut table = names();
    if let Some(owner) = table.get(&name) {
        return Err(NameError::Taken(owner.pid.clone()));
    }
    let (at_end, freed) = (named.at_end, name.clone());
    let given = pid.life().extra(false, |extra| match &extra.name {
        Some(name) => Err(NameError::HasName(name.clone())),
        None => {
            extra.name = Some(name.clone());
            let leave = Box::new(move |pid: &Pid| drop(take(&freed, pid)));
            extra.at_end.push(AtEnd { id: at_end, group: None, leave });
            Ok(())
        }
    });
    given.unwrap_or(Err(NameError::NoProcess))?;
    table.insert(name, named);
    Ok(())
}

/// Takes a name out of the table, if it is this actor's.
fn take(name: &str, pid: &Pid) -> Option<Named> {
    let mut table = names();
    if table.get(name).is_some_and(|named| named.pid == *pid) { table.remove(name) } else { None }
}

/// Takes an actor's name away. False: nobody has it.
///
/// # Blocking
/// Never.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Mailbox};
/// let actor = actor::spawn(|mut mail: Mailbox<()>| loop { mail.receive() });
/// actor::register("doc-old", &actor).unwrap();
/// assert!(actor::unregister("doc-old"));
/// assert!(!actor::unregister("doc-old"));
/// actor::register("doc-new", &actor).unwrap();
/// assert_eq!(actor.pid().name().as_deref(), Some("doc-new"));
/// ```
pub fn unregister(name: &str) -> bool {
    let Some(named) = names().remove(name) else { return false };
    let left = named.pid.life().with_extra(|extra| {
        extra.name = None;
        extra.at_end.iter().position(|at_end| at_end.id == named.at_end).map(|at| extra.at_end.swap_remove(at))
    });
    drop(left);
    true
}

/// The actor with this name; `None` if nobody has it, or one whose messages are of another type.
///
/// # Blocking
/// Never.
///
/// Example: [`register`].
pub fn whereis<M: Send + 'static>(name: &str) -> Option<Address<M>> {
    let address = names().get(name)?.address.clone();
    address.downcast_ref::<Address<M>>().cloned()
}

/// The actor with this name, whatever its messages. Example: [`register`].
pub fn whereis_pid(name: &str) -> Option<Pid> {
    names().get(name).map(|named| named.pid.clone())
}

/// Sends to whoever has this name.
///
/// # Blocking
/// As [`Address::send`].
///
/// # Errors
/// Nobody has it, or one whose messages are of another type; or as [`Address::send`].
///
/// Example: [`register`].
#[track_caller]
pub fn send_to<M: Send + 'static>(name: &str, message: M) -> Result<(), SendError<M>> {
    match whereis::<M>(name) {
        Some(actor) => actor.send(message),
        None => Err(SendError(message)),
    }
}

/// Watches for the end of the actor with this name, which [`Down`](crate::Down) then says. `None`:
/// nobody has it.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason};
/// let actor = actor::spawn(|mut mail: Mailbox<()>| mail.receive());
/// actor::register("doc-once", &actor).unwrap();
/// let end = actor::monitor_name("doc-once").unwrap();
/// actor::send_to("doc-once", ()).unwrap();
/// let down = end.wait();
/// assert_eq!((down.name.as_deref(), down.reason), (Some("doc-once"), Reason::Normal));
/// assert!(actor::monitor_name("doc-once").is_none());
/// ```
pub fn monitor_name(name: &str) -> Option<Monitor> {
    let (name, named) = {
        let table = names();
        let (name, named) = table.get_key_value(name)?;
        (name.clone(), named.pid.clone())
    };
    Some(monitor_as(named, Some(name)))
}
