//! Who has spawned an actor.
//!
//! An actor that spawns another one makes a *lineage* for its children, once: itself, and its own
//! ancestors, the nearest first. All of its children have that one, so a child has a word for it.
//! A lineage is of some ancestors at most: actors that spawn their successors and end, without end,
//! leave nothing behind.
//!
//! **Memory.** What stands for an ancestor is a record of its own, which has a weak reference to
//! the actor, and none once the actor has ended: a child keeps no memory of a dead parent.
//!
//! **Rejected.** The parent's [`Pid`] in each child: it keeps the parent's state of a server as
//! memory, and a chain of successors for ever. A list that goes on from parent to parent: the same
//! chain, of records.

use crate::frame::{self, current, is_free_of_actors};
use crate::pid::{Pid, Process};
use crate::shared::WeakShared;
use myriad_base::sys::mutex::Mutex;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// So many ancestors are known.
const MOST: usize = 8;

/// The ancestors of the children of an actor, the nearest first.
pub(crate) struct Lineage(Vec<Arc<Record>>);

/// What stands for an ancestor.
struct Record {
    id: u64,
    spawned_at: &'static Location<'static>,
    about: Mutex<Known>,
}

enum Known {
    Alive(WeakShared<dyn Process>),
    /// The name that it had then.
    Ended(Option<Arc<str>>),
}

impl Lineage {
    /// Of what the actor that runs here spawns.
    #[inline(always)]
    pub(crate) fn here() -> Option<Arc<Lineage>> {
        if is_free_of_actors() { None } else { Lineage::of_current() }
    }

    #[inline(never)]
    fn of_current() -> Option<Arc<Lineage>> {
        frame::lineage()?.or_else(Lineage::of_first_child)
    }

    /// Of the first child that is spawned within a frame.
    #[cold]
    fn of_first_child() -> Option<Arc<Lineage>> {
        let pid = current()?;
        // (Made without the lock.)
        let known = pid.life().with_extra(|extra| extra.lineage.clone()).flatten();
        let lineage = known.unwrap_or_else(|| Arc::new(Lineage::of(&pid)));
        let lineage = pid.life().extra(true, |extra| extra.lineage.get_or_insert_with(|| lineage.clone()).clone())?;
        frame::keep_lineage(&lineage);
        Some(lineage)
    }

    #[cold]
    fn of(pid: &Pid) -> Lineage {
        let life = pid.life();
        let me = Known::Alive(pid.0.downgrade());
        let me = Arc::new(Record { id: life.id(), spawned_at: life.spawned_at(), about: Mutex::new(me) });
        let above = life.parents().map_or(&[][..], |parents| &parents.0);
        Lineage(std::iter::once(me).chain(above.iter().take(MOST - 1).cloned()).collect())
    }

    /// The actor whose children have this has ended, and had this name.
    pub(crate) fn ended(&self, name: Option<Arc<str>>) {
        if let Some(me) = self.0.first() {
            let before = std::mem::replace(&mut *me.about.lock(), Known::Ended(name));
            // (Dropped without the lock.)
            drop(before);
        }
    }

    pub(crate) fn ancestors(&self) -> Vec<Ancestor> {
        self.0.iter().map(|record| record.ancestor()).collect()
    }
}

impl Record {
    fn ancestor(&self) -> Ancestor {
        let (pid, name) = match &*self.about.lock() {
            Known::Alive(process) => (process.upgrade().map(Pid), None),
            Known::Ended(name) => (None, name.clone()),
        };
        let name = pid.as_ref().map_or(name, Pid::name);
        Ancestor { id: self.id, name, spawned_at: self.spawned_at, pid }
    }
}

/// An actor that has spawned another one, or its parent, and so on: of [`Info::ancestors`].
///
/// [`Info::ancestors`]: crate::Info::ancestors
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Mailbox};
/// let (tx, rx) = myriad::channel::oneshot();
/// let parent = actor::spawn(move |_: Mailbox<()>| {
///     let child = actor::spawn(|mut mail: Mailbox<()>| mail.receive());
///     tx.send(child).unwrap();
/// });
/// let child = rx.recv().unwrap();
/// actor::monitor(&parent).wait();
/// let ancestors = child.pid().info().ancestors;
/// assert_eq!(ancestors[0].id, parent.pid().id());
/// assert_eq!(ancestors[0].pid, None);            // it has ended
/// child.cast(());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ancestor {
    /// Its number.
    pub id: u64,
    /// Its name: now, or when it ended.
    pub name: Option<Arc<str>>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// The actor; `None` once it has ended.
    pub pid: Option<Pid>,
}

impl fmt::Display for Ancestor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "'{name}' (#{})", self.id),
            None => write!(f, "#{}", self.id),
        }
    }
}
