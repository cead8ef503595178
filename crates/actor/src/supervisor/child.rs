//! What a supervisor knows of a child before it is started.

use super::{Supervisor, Tree};
use crate::address::Address;
use crate::pid::{AsPid, Pid};
use crate::reason::Reason;
use crate::registry::register;
use myriad_core::engine::unwind::{is_cancellation, resume};
use myriad_core::engine::user_code;
use myriad_sync::answer::AnswerReceiver;
use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// After which ends a child is started anew. Examples: [`Child`], [`Supervisor::dynamic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// After each.
    Permanent,
    /// After those that are not [expected](Reason::is_expected).
    Transient,
    /// After none; then it is forgotten.
    Temporary,
}

/// How a child is stopped.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Child, Exit, Mailbox, Reply, ShutdownLimit, Strategy, Supervisor};
/// use std::time::Duration;
/// enum Message { Hello(Reply<()>), Exit(Exit) }
/// fn stubborn(mut mail: Mailbox<Message>) {
///     mail.trap_exits(Message::Exit);
///     loop {
///         match mail.receive() {
///             Message::Hello(reply) => reply.send(()),
///             Message::Exit(_) => {}               // does not end
///         }
///     }
/// }
/// let child = Child::new("stubborn", || Ok(actor::spawn(stubborn)));
/// let tree = Supervisor::new(Strategy::OneForOne)
///     .child(child.shutdown(ShutdownLimit::After(Duration::from_millis(10))))
///     .start()
///     .unwrap();
/// tree.get::<Message>("stubborn").unwrap().call(Message::Hello).unwrap();
/// let report = tree.stop();
/// assert!(!report.is_clean());
/// assert_eq!(report.killed, ["stubborn".into()]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShutdownLimit {
    /// It is told to, and killed when it has not ended after so long.
    After(Duration),
    /// It is told to, and waited for.
    Never,
    /// It is killed.
    Brutal,
}

/// A running incarnation.
pub(super) struct Started {
    pub(super) pid: Pid,
    /// Its `Address<M>`.
    pub(super) address: Arc<dyn Any + Send + Sync>,
    /// Its own tree, of a supervisor.
    pub(super) tree: Option<Tree>,
}

/// Brings whether the children of a supervisor have started.
pub(super) type Begun = AnswerReceiver<Result<(), StartError>>;

/// How an incarnation is made.
enum Start {
    Actor(Box<dyn FnMut() -> Result<Started, Reason> + Send>),
    /// Of a supervisor: without blocking the one above.
    Tree(Box<dyn FnMut() -> Supervisor + Send>),
}

/// What gives an incarnation its name.
type Names = Box<dyn Fn(&Started) -> Result<(), Reason> + Send>;

/// A child of a [`Supervisor`]: its name there, how it is started, restarted and stopped.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Child, Mailbox, Restart, Strategy, Supervisor};
/// fn import(mut mail: Mailbox<u32>) -> Result<(), &'static str> {
///     if mail.receive() > 0 { Ok(()) } else { Err("no files") }
/// }
/// let tree = Supervisor::new(Strategy::OneForOne)
///     .child(Child::supervisor("jobs", || {
///         let import = Child::new("import", || Ok(actor::spawn(import)));
///         Supervisor::new(Strategy::OneForOne)
///             .child(import.restart(Restart::Transient).named::<u32>("doc-import"))
///     }))
///     .start()
///     .unwrap();
/// let jobs = tree.tree("jobs").unwrap();
/// let run = |files| {
///     let import = actor::whereis::<u32>("doc-import").unwrap();
///     import.cast(files);
///     actor::monitor(&import).wait();
///     jobs.get::<u32>("import").is_some()
/// };
/// assert!(run(0));           // has failed, and is started anew
/// assert!(!run(3));          // has done its work
/// ```
#[must_use = "a child is nothing until a supervisor has it"]
pub struct Child {
    pub(super) id: Arc<str>,
    start: Start,
    names: Option<Names>,
    pub(super) restart: Restart,
    pub(super) shutdown: ShutdownLimit,
}

impl Child {
    /// A child that `start` starts, each time anew: [`Permanent`](Restart::Permanent), and given
    /// 5 s to end.
    ///
    /// `start` runs in the supervisor, which waits for it. What it returns as an error is a start
    /// that has failed, and so is a panic: at first that of the supervisor, later one more restart.
    pub fn new<M: Send + 'static>(
        id: &str,
        mut start: impl FnMut() -> Result<Address<M>, Reason> + Send + 'static,
    ) -> Child {
        let start = move || {
            let address = start()?;
            Ok(Started { pid: address.pid(), address: Arc::new(address), tree: None })
        };
        Child::of(id, ShutdownLimit::After(Duration::from_secs(5)), Start::Actor(Box::new(start)))
    }

    /// A child that is a supervisor itself: each time the one that `make` makes. It is given all
    /// the time that it needs to stop its children. Example: [`Child`].
    pub fn supervisor(id: &str, make: impl FnMut() -> Supervisor + Send + 'static) -> Child {
        Child::of(id, ShutdownLimit::Never, Start::Tree(Box::new(make)))
    }

    fn of(id: &str, shutdown: ShutdownLimit, start: Start) -> Child {
        Child { id: Arc::from(id), start, names: None, restart: Restart::Permanent, shutdown }
    }

    /// After which ends it is started anew. Example: [`Child`].
    pub fn restart(mut self, restart: Restart) -> Child {
        self.restart = restart;
        self
    }

    /// How it is stopped. Example: [`ShutdownLimit`].
    pub fn shutdown(mut self, limit: ShutdownLimit) -> Child {
        self.shutdown = limit;
        self
    }

    /// Each incarnation gets this [name](crate::register). If another actor has it the start fails.
    /// Example: [`Child`].
    pub fn named<M: Send + 'static>(mut self, name: &str) -> Child {
        let name: Arc<str> = Arc::from(name);
        self.names = Some(Box::new(move |started| {
            let address = started.address.downcast_ref::<Address<M>>();
            let address = address.ok_or_else(|| Reason::of("its messages are of another type than its name's"))?;
            register(&name, address).map_err(Reason::of)
        }));
        self
    }

    /// Begins an incarnation, as code of the supervisor. Of a supervisor it is said later whether
    /// its children have started; meanwhile it runs.
    pub(super) fn begin(&mut self) -> Result<(Started, Option<Begun>), Reason> {
        match &mut self.start {
            Start::Actor(start) => Ok((caught(start)?, None)),
            Start::Tree(make) => {
                let (tree, begun) = Tree::launch(caught(|| Ok(make()))?);
                Ok((Started { pid: tree.pid(), address: Arc::new(tree.clone()), tree: Some(tree) }, Some(begun)))
            }
        }
    }

    /// Gives an incarnation its name, if it has one.
    pub(super) fn name(&self, started: &Started) -> Result<(), Reason> {
        self.names.as_ref().map_or(Ok(()), |names| names(started))
    }
}

/// Calls a function of the program's; its panic is an error, and a cancellation is the caller's.
fn caught<T>(f: impl FnOnce() -> Result<T, Reason>) -> Result<T, Reason> {
    match user_code::body(f) {
        Ok(result) => result,
        Err(payload) if is_cancellation(&payload) => resume(payload),
        Err(payload) => Err(crate::task::reason_of(payload)),
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("id", &self.id).field("restart", &self.restart).finish_non_exhaustive()
    }
}

/// Why a supervisor or a child was not started.
///
/// # Examples
/// ```
/// use myriad::actor::{Child, Reason, StartError, Strategy, Supervisor};
/// let printer = Child::new::<()>("printer", || Err(Reason::of("no paper")));
/// let failed = Supervisor::new(Strategy::OneForOne).child(printer).start();
/// let (child, reason) = ("printer".into(), Reason::of("no paper"));
/// assert_eq!(failed.unwrap_err(), StartError::Failed { child, reason });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// The child's start has failed.
    Failed {
        /// Which.
        child: Arc<str>,
        /// Why.
        reason: Reason,
    },
    /// There is a child of this name; it runs as this actor, if it runs.
    Duplicate(Arc<str>, Option<Pid>),
    /// The supervisor has as many as it may have.
    TooMany(usize),
    /// The supervisor has ended.
    NoSupervisor(Reason),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Failed { child, reason } => write!(f, "child '{child}' was not started: {reason}"),
            StartError::Duplicate(id, Some(pid)) => write!(f, "there is a child '{id}', which is {pid}"),
            StartError::Duplicate(id, None) => write!(f, "there is a child '{id}', which does not run"),
            StartError::TooMany(most) => write!(f, "the supervisor may have {most} children, and has them"),
            StartError::NoSupervisor(reason) => write!(f, "the supervisor has ended: {reason}"),
        }
    }
}

impl std::error::Error for StartError {}
