//! Monitors: being told, once, that an actor has ended.

use crate::address::WeakAddress;
use crate::cell::run_nested;
use crate::life::number;
use crate::pid::{AsPid, Down, Pid};
use crate::reason::Reason;
use myriad_core::engine::user_code;
use myriad_sync::channel::{OnceSender, Receiver, oneshot};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A monitor, as the watched actor has it.
pub(crate) struct Watch {
    id: u64,
    name: Option<Arc<str>>,
    tells: Tells,
}

enum Tells {
    Waiting(OnceSender<Down>),
    Actor(Box<dyn Watcher>),
    /// Of a supervisor, which knows the actor by the name of the watch.
    Supervisor(Box<dyn FnOnce(Down) + Send>),
}

/// An actor that watches another one.
trait Watcher: Send {
    fn tell(self: Box<Self>, down: Down);
    /// It has ended, and its memory is gone: nobody would hear of the end.
    fn is_gone(&self) -> bool;
}

/// A watcher to whom an end is this message. (It knows the actor weakly: those who watch a server
/// and end before it would stay in its list otherwise.)
struct ByMessage<M, F> {
    to: WeakAddress<M>,
    message: F,
}

impl<M: Send + 'static, F: FnOnce(Down) -> M + Send> Watcher for ByMessage<M, F> {
    fn tell(self: Box<Self>, down: Down) {
        if let Some(to) = self.to.upgrade() {
            to.force((self.message)(down));
        }
    }

    fn is_gone(&self) -> bool {
        self.to.is_gone()
    }
}

impl Watch {
    fn is_gone(&self) -> bool {
        if let Tells::Actor(watcher) = &self.tells { watcher.is_gone() } else { false }
    }

    /// The name of the actor as a child of a supervisor, if that has made this.
    pub(crate) fn child(&self) -> Option<&Arc<str>> {
        if let Tells::Supervisor(_) = self.tells { self.name.as_ref() } else { None }
    }

    /// In a [`user_code::call`].
    pub(crate) fn tell(self, pid: &Pid, reason: &Reason) {
        let down = Down { monitor: self.id, pid: pid.clone(), name: self.name, reason: reason.clone() };
        match self.tells {
            Tells::Waiting(sender) => drop(sender.send(down)),
            Tells::Actor(watcher) => run_nested("a monitor", || watcher.tell(down)),
            Tells::Supervisor(tell) => run_nested("a monitor", || tell(down)),
        }
    }
}

fn watch(pid: &Pid, name: Option<Arc<str>>, tells: Tells) -> u64 {
    let id = number();
    let mut watch = Some(Watch { id, name, tells });
    let gone = pid.life().extra(true, |extra| {
        let gone = make_room(&mut extra.watches);
        extra.watches.extend(watch.take());
        gone
    });
    if let Some(gone) = gone.filter(|gone| !gone.is_empty()) {
        // (What the program has given them is dropped here, without the lock.)
        user_code::run("a monitor", || drop(gone));
    }
    if let Some(watch) = watch {
        // A child that has ended before its supervisor could watch has ended for its own reason.
        let own = matches!(watch.tells, Tells::Supervisor(_)).then(|| pid.reason()).flatten();
        user_code::run("a monitor", || watch.tell(pid, &own.unwrap_or(Reason::NoProcess)));
    }
    id
}

/// Makes room for one more. Back: those that nobody would hear, looked for when the memory is used
/// up: O(1) each in the long run, as half of it is free afterwards.
fn make_room(watches: &mut Vec<Watch>) -> Vec<Watch> {
    if watches.len() < watches.capacity() {
        return Vec::new();
    }
    let gone: Vec<_> = watches.extract_if(.., |watch| watch.is_gone()).collect();
    // (Most actors are watched by one other at most.)
    watches.reserve_exact(watches.len().max(1));
    gone
}

/// Watches for the end of an actor, from anywhere.
///
/// Monitors add up: each brings one [`Down`], of the reason, or of [`Reason::NoProcess`] if the
/// actor had ended already. When it comes, the name of the actor is free.
///
/// # Blocking
/// Never.
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason};
/// let actor = actor::spawn(|_: Mailbox<()>| Err::<(), _>("no paper"));
/// assert_eq!(actor::monitor(&actor).wait().reason.to_string().is_empty(), false);
/// ```
#[must_use = "a monitor that is dropped tells nobody"]
pub fn monitor(actor: &impl AsPid) -> Monitor {
    monitor_as(actor.pid(), None)
}

pub(crate) fn monitor_as(pid: Pid, name: Option<Arc<str>>) -> Monitor {
    let (sender, receiver) = oneshot();
    let id = watch(&pid, name, Tells::Waiting(sender));
    Monitor { pid, id, receiver: Some(receiver) }
}

/// As [`monitor`], for an actor, to whom it is a message. `message` is called once, where the actor
/// ends, or here; or never, where the watcher has ended before.
pub(crate) fn monitor_by<M: Send + 'static>(
    pid: &Pid,
    to: WeakAddress<M>,
    message: impl FnOnce(Down) -> M + Send + 'static,
) -> MonitorRef {
    MonitorRef { pid: pid.clone(), id: watch(pid, None, Tells::Actor(Box::new(ByMessage { to, message }))) }
}

/// The same for the supervisor of a child with this name.
pub(crate) fn monitor_child(pid: &Pid, child: Arc<str>, tell: impl FnOnce(Down) + Send + 'static) {
    watch(pid, Some(child), Tells::Supervisor(Box::new(tell)));
    crate::left::watch_task(pid);
}

/// Watches for the end of an actor: see [`monitor`]. Dropped, it watches no longer.
pub struct Monitor {
    pid: Pid,
    id: u64,
    receiver: Option<Receiver<Down>>,
}

const TOLD: &str = "each monitor is told once";

impl Monitor {
    /// Waits until the actor has ended.
    ///
    /// # Cancellation
    /// The caller unwinds.
    #[track_caller]
    pub fn wait(mut self) -> Down {
        let down = self.receiver().recv().expect(TOLD);
        self.receiver = None;
        down
    }

    /// (Here until it has told: a wait that is given up drops the monitor, which watches no
    /// longer.)
    fn receiver(&self) -> &Receiver<Down> {
        self.receiver.as_ref().expect(TOLD)
    }

    /// The same for so long. `Err`: the time was over, and the monitor watches on.
    ///
    /// # Errors
    /// The monitor itself.
    #[track_caller]
    pub fn wait_timeout(self, limit: Duration) -> Result<Down, Monitor> {
        let told = self.receiver().recv_timeout(limit);
        told.map_err(|_| self)
    }

    /// The same as a future.
    pub async fn wait_async(mut self) -> Down {
        let down = self.receiver().recv_async().await.expect(TOLD);
        self.receiver = None;
        down
    }

    /// Which monitor of the actor this is: [`Down::monitor`].
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The actor.
    pub fn pid(&self) -> &Pid {
        &self.pid
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        if self.receiver.is_some() {
            demonitor(&self.pid, self.id);
        }
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor").field("pid", &self.pid).field("id", &self.id).finish_non_exhaustive()
    }
}

/// In the number of the actor's monitors.
fn demonitor(pid: &Pid, id: u64) -> bool {
    let gone = pid.life().with_extra(|extra| {
        let at = extra.watches.iter().position(|watch| watch.id == id)?;
        Some(extra.watches.swap_remove(at))
    });
    // (Dropped here, without the lock.)
    gone.flatten().is_some()
}

/// A monitor whose end comes as a message: what
/// [`Mailbox::monitor`](crate::Mailbox::monitor) returns. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct MonitorRef {
    pid: Pid,
    id: u64,
}

impl MonitorRef {
    /// Ends the monitor: afterwards no message comes. False: it was ended before, or the actor has
    /// ended: then the message was received, is in the mailbox, or comes in a moment.
    ///
    /// # Complexity
    /// In the number of monitors that the actor has.
    pub fn demonitor(&self) -> bool {
        demonitor(&self.pid, self.id)
    }

    /// Which monitor of the actor this is: [`Down::monitor`].
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The actor.
    pub fn pid(&self) -> &Pid {
        &self.pid
    }
}
