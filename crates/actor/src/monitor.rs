//! Monitors: being told, once, that an actor has ended.

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
    By(Box<dyn FnOnce(Down) + Send>),
    /// Of a supervisor, which knows the actor by the name of the watch.
    Supervisor(Box<dyn FnOnce(Down) + Send>),
}

impl Watch {
    /// The name of the actor as a child of a supervisor, if that has made this.
    pub(crate) fn child(&self) -> Option<&Arc<str>> {
        if let Tells::Supervisor(_) = self.tells { self.name.as_ref() } else { None }
    }

    /// In a [`user_code::call`].
    pub(crate) fn tell(self, pid: &Pid, reason: &Reason) {
        let down = Down { monitor: self.id, pid: pid.clone(), name: self.name, reason: reason.clone() };
        match self.tells {
            Tells::Waiting(sender) => drop(sender.send(down)),
            Tells::By(tell) | Tells::Supervisor(tell) => run_nested("a monitor", || tell(down)),
        }
    }
}

fn watch(pid: &Pid, name: Option<Arc<str>>, tells: Tells) -> u64 {
    let id = number();
    let mut watch = Some(Watch { id, name, tells });
    pid.life().extra(true, |extra| {
        extra.watches.reserve_exact(usize::from(extra.watches.is_empty()));
        extra.watches.extend(watch.take());
    });
    if let Some(watch) = watch {
        user_code::run("a monitor", || watch.tell(pid, &Reason::NoProcess));
    }
    id
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

/// As [`monitor`], for one whom `tell` tells: a message into its mailbox, most often. `tell` is
/// called once, where the actor ends, or here.
pub(crate) fn monitor_by(pid: &Pid, name: Option<Arc<str>>, tell: impl FnOnce(Down) + Send + 'static) -> MonitorRef {
    MonitorRef { pid: pid.clone(), id: watch(pid, name, Tells::By(Box::new(tell))) }
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
        let receiver = self.receiver.take().expect(TOLD);
        receiver.recv().expect(TOLD)
    }

    /// The same for so long. `Err`: the time was over, and the monitor watches on.
    ///
    /// # Errors
    /// The monitor itself.
    #[track_caller]
    pub fn wait_timeout(self, limit: Duration) -> Result<Down, Monitor> {
        let told = self.receiver.as_ref().expect(TOLD).recv_timeout(limit);
        told.map_err(|_| self)
    }

    /// The same as a future.
    pub async fn wait_async(mut self) -> Down {
        let receiver = self.receiver.take().expect(TOLD);
        receiver.recv_async().await.expect(TOLD)
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
