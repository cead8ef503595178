//! The handle of a supervisor.

use super::Supervisor;
use super::child::{Begun, Child, StartError};
use super::run::{Order, run};
use super::show::ChildInfo;
use crate::address::Address;
use crate::call::{CallError, Reply};
use crate::pid::{AsPid, Pid};
use crate::reason::Reason;
use crate::task::Builder;
use myriad_sync::answer::answer;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// A supervisor that runs. Cloning copies a reference; dropping the last one changes nothing.
///
/// # Examples
/// ```
/// use myriad::actor::{self, AsPid, Child, Mailbox, Strategy, Supervisor};
/// let child = |id: &str| Child::new(id, || Ok(actor::spawn(|mut mail: Mailbox<()>| loop { mail.receive() })));
/// let tree = Supervisor::new(Strategy::OneForOne).child(child("a")).start().unwrap();
/// let b = tree.start_child(child("b")).unwrap();
/// assert_eq!(tree.get::<()>("b").unwrap().pid(), b);
/// assert!(tree.stop_child("b"));
/// assert_eq!(tree.get::<()>("b"), None);
/// assert_ne!(tree.restart_child("b"), Ok(b));              // another incarnation
/// assert!(!tree.delete_child("b"));                        // it runs
/// assert!(tree.stop_child("b") && tree.delete_child("b"));
/// assert_eq!(tree.stop().stopped, 1);                      // "a"
/// ```
#[derive(Clone)]
pub struct Tree {
    supervisor: Address<Order>,
}

/// What [`Tree::stop`] has done. Example: [`ShutdownLimit`](crate::ShutdownLimit).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopReport {
    /// How many children ran.
    pub stopped: usize,
    /// Those that did not end in their time, and were killed.
    pub killed: Vec<Arc<str>>,
}

impl StopReport {
    /// Has each child ended in its time?
    pub fn is_clean(&self) -> bool {
        self.killed.is_empty()
    }
}

impl Tree {
    #[track_caller]
    pub(super) fn start(of: Supervisor) -> Result<Tree, StartError> {
        let (tree, started) = Tree::launch(of);
        let started = started.recv(None);
        tree.when(started.ok())
    }

    #[track_caller]
    pub(super) fn launch(of: Supervisor) -> (Tree, Begun) {
        let (sender, started) = answer();
        let reply = Reply::new(sender);
        // (In a box, for it is large; of this type, for a supervisor starts supervisors.)
        let body = |mail| -> Pin<Box<dyn Future<Output = Reason> + Send>> { Box::pin(run(mail, of, reply)) };
        (Tree { supervisor: Builder::new().spawn_async(body) }, started)
    }

    /// The tree, when it is known whether its children have started.
    pub(super) fn when(self, started: Option<Result<(), StartError>>) -> Result<Tree, StartError> {
        let ended = || StartError::NoSupervisor(self.pid().reason().unwrap_or(Reason::Cancelled));
        started.unwrap_or_else(|| Err(ended()))?;
        Ok(self)
    }

    /// The child of this name as it runs now. `None`: there is none, it does not run, or its
    /// messages are of another type. After a crash that came before this call it is the new one.
    ///
    /// # Blocking
    /// Until the supervisor has done what came before; while a child is being started anew, until
    /// it has started, was stopped, or the supervisor gives up.
    #[track_caller]
    pub fn get<M: Send + 'static>(&self, id: &str) -> Option<Address<M>> {
        self.child(id)?.downcast_ref::<Address<M>>().cloned()
    }

    /// The child of this name, of a supervisor. Example: [`Child`].
    ///
    /// # Blocking
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn tree(&self, id: &str) -> Option<Tree> {
        self.child(id)?.downcast_ref::<Tree>().cloned()
    }

    #[track_caller]
    fn child(&self, id: &str) -> Option<Arc<dyn std::any::Any + Send + Sync>> {
        self.call(|reply| Order::Get(Arc::from(id), reply)).ok()?
    }

    /// Adds a child and starts it.
    ///
    /// # Blocking
    /// Until it was started.
    ///
    /// # Errors
    /// See [`StartError`].
    #[track_caller]
    pub fn start_child(&self, child: Child) -> Result<Pid, StartError> {
        self.call(|reply| Order::Start(child, reply)).unwrap_or_else(|error| Err(self.gone(error)))
    }

    /// Stops a child, and keeps what is known of it, for
    /// [`restart_child`](Self::restart_child); one of a dynamic supervisor, and a temporary one, is
    /// forgotten. False: there is none of this name.
    ///
    /// # Blocking
    /// Until it has ended.
    #[track_caller]
    pub fn stop_child(&self, id: &str) -> bool {
        self.call(|reply| Order::Stop(Arc::from(id), reply)).unwrap_or(false)
    }

    /// Starts a child that was stopped, or was not started anew.
    ///
    /// # Blocking
    /// Until it was started.
    ///
    /// # Errors
    /// See [`StartError`]: it runs ([`Duplicate`](StartError::Duplicate)), or there is none.
    #[track_caller]
    pub fn restart_child(&self, id: &str) -> Result<Pid, StartError> {
        self.call(|reply| Order::Restart(Arc::from(id), reply)).unwrap_or_else(|error| Err(self.gone(error)))
    }

    /// Forgets a child. False: there is none of this name, or it runs.
    ///
    /// # Blocking
    /// Until the supervisor has done what came before.
    #[track_caller]
    pub fn delete_child(&self, id: &str) -> bool {
        self.call(|reply| Order::Delete(Arc::from(id), reply)).unwrap_or(false)
    }

    /// The children, in the order of their start. Empty if the supervisor has ended.
    ///
    /// # Blocking
    /// Until the supervisor has done what came before.
    #[track_caller]
    pub fn children(&self) -> Vec<ChildInfo> {
        self.call(Order::Which).unwrap_or_default()
    }

    /// Stops the supervisor: its children end, the last one first, each in its time; those of a
    /// [dynamic](Supervisor::dynamic) one end together.
    ///
    /// # Blocking
    /// Until all have ended. Nothing happens if the supervisor has ended already.
    #[track_caller]
    pub fn stop(&self) -> StopReport {
        let report = self.call(Order::StopAll).unwrap_or_default();
        crate::monitor::monitor(&self.supervisor).wait();
        report
    }

    #[track_caller]
    fn call<T: Send + 'static>(&self, order: impl FnOnce(Reply<T>) -> Order) -> Result<T, CallError> {
        self.supervisor.call(order)
    }

    fn gone(&self, error: CallError) -> StartError {
        StartError::NoSupervisor(match error {
            CallError::Exited(reason) => reason,
            other => self.supervisor.pid().reason().unwrap_or_else(|| Reason::of(other)),
        })
    }
}

impl AsPid for Tree {
    fn pid(&self) -> Pid {
        self.supervisor.pid()
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree").field("pid", &self.pid()).finish_non_exhaustive()
    }
}
