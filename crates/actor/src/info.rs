//! What is known of an actor, at one moment.

use crate::life::Stage;
use crate::lineage::Ancestor;
use crate::pid::Pid;
use crate::reason::Reason;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// What an actor does: of [`Info`]. Example: [`suspend`](crate::suspend).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It runs, or waits for something else than a message; or it has not begun yet.
    Running,
    /// It waits for a message.
    Waiting,
    /// It takes no message until it is [resumed](crate::resume).
    Suspended,
    /// It ends.
    Ending,
    /// It has ended, for this reason.
    Ended(Reason),
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Running => f.write_str("runs"),
            Status::Waiting => f.write_str("waits for a message"),
            Status::Suspended => f.write_str("is suspended"),
            Status::Ending => f.write_str("ends"),
            Status::Ended(reason) => write!(f, "has ended: {reason}"),
        }
    }
}

/// What is known of an actor: what [`Pid::info`] returns. As text, a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Info {
    /// Its number.
    pub id: u64,
    /// Its name in the [registry](crate::register).
    pub name: Option<Arc<str>>,
    /// Where it was spawned.
    pub spawned_at: &'static Location<'static>,
    /// The type of a [`Server`](crate::Server); `None` of an actor that is a function.
    pub server: Option<&'static str>,
    /// What it does.
    pub status: Status,
    /// How many messages wait in its mailbox. (Not those that a selective receive has put off.)
    pub queued: usize,
    /// The actor whose answer it waits for, in a call that blocks.
    pub calls: Option<Pid>,
    /// Who has spawned it, the parent of that, and so on: the nearest eight. Empty if no actor has.
    pub ancestors: Vec<Ancestor>,
    /// The actors that it is [linked](crate::link()) to, in no order.
    pub links: Vec<Pid>,
    /// How many monitors watch it. A supervisor has one.
    pub monitors: usize,
    /// The [groups](crate::join_group) that it is in, as often as it has joined.
    pub groups: Vec<Arc<str>>,
    /// Does it [trap exits](crate::Mailbox::trap_exits)?
    pub traps_exits: bool,
}

impl Info {
    /// The actor that has spawned this one, if an actor has.
    pub fn parent(&self) -> Option<&Ancestor> {
        self.ancestors.first()
    }
}

impl Pid {
    /// What is known of the actor now. What concerns its end, its queue and its partners is asked
    /// one after the other; the actor may go on meanwhile.
    ///
    /// # Blocking
    /// Never.
    ///
    /// # Complexity
    /// In the number of its links and groups.
    ///
    /// # Examples
    /// ```
    /// use myriad::actor::{self, AsPid, Mailbox};
    /// let (a, b) = (actor::spawn(|mut mail: Mailbox<()>| mail.receive()), actor::spawn(|_: Mailbox<()>| ()));
    /// actor::register("doc-info", &a).unwrap();
    /// let info = a.pid().info();
    /// assert_eq!((info.name.as_deref(), info.queued, info.parent()), (Some("doc-info"), 0, None));
    /// assert!(info.to_string().starts_with("actor 'doc-info' (#"));
    /// # drop(b);
    /// a.cast(());
    /// ```
    #[doc(alias = "process_info")]
    pub fn info(&self) -> Info {
        let life = self.life();
        // (The stage before the reason, which then is there.)
        let stage = life.stage();
        let status = match (stage, life.reason()) {
            (Stage::Dead, Some(reason)) => Status::Ended(reason),
            (Stage::Dead | Stage::Ending, _) => Status::Ending,
            (Stage::Alive, _) if self.0.is_paused() => Status::Suspended,
            (Stage::Alive, _) if self.0.is_at_rest() => Status::Waiting,
            (Stage::Alive, _) => Status::Running,
        };
        let mut info = Info {
            id: self.id(),
            name: None,
            spawned_at: life.spawned_at(),
            server: self.0.served().map(|served| served.name),
            status,
            queued: self.queued(),
            calls: None,
            ancestors: life.parents().map_or_else(Vec::new, |parents| parents.ancestors()),
            links: Vec::new(),
            monitors: 0,
            groups: Vec::new(),
            traps_exits: self.0.traps_exits(),
        };
        let _: Option<()> = life.with_extra(|extra| {
            info.name = extra.name.clone();
            info.calls = extra.waits_for.as_ref().and_then(|call| call.waited_for());
            info.links = extra.links.pids();
            info.monitors = extra.watches.len();
            info.groups = extra.at_end.iter().filter_map(|at_end| at_end.group.clone()).collect();
        });
        info
    }
}

/// The items of a list, with commas.
pub(crate) fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(n, item)| write!(f, "{}{item}", if n > 0 { ", " } else { "" }))
}

/// The actor, for a text: its name or where it was spawned, its number, and its type.
pub(crate) fn who(f: &mut fmt::Formatter<'_>, of: &Info) -> fmt::Result {
    match &of.name {
        Some(name) => write!(f, "actor '{name}' (#{})", of.id)?,
        None => write!(f, "actor #{} (spawned at {})", of.id, of.spawned_at)?,
    }
    of.server.map_or(Ok(()), |server| write!(f, ", a {server},"))
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        who(f, self)?;
        write!(f, " {}; {} queued", self.status, self.queued)?;
        if let Some(called) = &self.calls {
            write!(f, "; calls #{}", called.id())?;
        }
        if !self.ancestors.is_empty() {
            f.write_str("; spawned by ")?;
            list(f, &self.ancestors)?;
        }
        if !self.links.is_empty() {
            f.write_str("; linked to ")?;
            list(f, &self.links.iter().map(|pid| format!("#{}", pid.id())).collect::<Vec<_>>())?;
        }
        if self.monitors > 0 {
            write!(f, "; {} monitors", self.monitors)?;
        }
        if !self.groups.is_empty() {
            f.write_str("; in ")?;
            list(f, &self.groups.iter().map(|group| format!("'{group}'")).collect::<Vec<_>>())?;
        }
        if self.traps_exits {
            f.write_str("; traps exits")?;
        }
        Ok(())
    }
}
