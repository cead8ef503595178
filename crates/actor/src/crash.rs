//! What is said of an actor that has failed.

use crate::cell::run_nested;
use crate::info::{Info, list, who};
use crate::life::{OWN, PANICKED};
use crate::pid::{Pid, Process, this};
use crate::reason::Reason;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code;
use std::fmt;
use std::sync::Arc;

/// An actor has failed: it has panicked, or ends with a reason that it has given itself, and that
/// is neither normal nor a shutdown. What [`on_crash`] is told. As text, a line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Crash {
    /// The actor, which is ending.
    pub pid: Pid,
    /// Why.
    pub reason: Reason,
    /// What is known of it: its name, its ancestors, how many messages wait and are lost.
    pub info: Info,
    /// The message that a server was handling, if it [describes](crate::Server::DESCRIBE) messages.
    pub last_message: Option<String>,
    /// Its name as the child of a [`Supervisor`](crate::Supervisor), if it is one.
    pub child: Option<Arc<str>>,
    /// With what it was told to end before it panicked: by its supervisor, for instance. To others
    /// this is the reason of its end.
    pub told: Option<Reason>,
}

type Hook = Arc<dyn Fn(&Crash) + Send + Sync>;

fn hook() -> &'static Mutex<Option<Hook>> {
    static HOOK: Mutex<Option<Hook>> = Mutex::new(None);
    &HOOK
}

/// From now on calls this function for each actor of the process that [fails](Crash): once, where
/// the actor ends, before its partners, monitors and supervisor are told. It takes the place of the
/// function of an earlier call. An actor that ends because another one has told it, by a link for
/// instance, has not failed itself, unless it panics [before it has ended](Crash::told).
///
/// Beside this, a panic is said as that of a detached task, as the builder of the runtime has it
/// ([`on_unhandled_panic`](myriad_core::Builder::on_unhandled_panic)): that of a supervised actor,
/// that of one whose end nobody is told of, and that of one that was told to end before.
///
/// # Panics
/// A panic of the function is reported. (One of the destructor of an earlier function, too.)
///
/// # Examples
/// ```
/// use myriad::actor::{self, Mailbox, Reason};
/// let (tx, rx) = myriad::channel::unbounded();
/// actor::on_crash(move |crash| drop(tx.try_send(crash.clone())));
/// actor::spawn(|_: Mailbox<()>| Err::<(), _>("no paper"));
/// let crash = rx.recv().unwrap();
/// assert_eq!((crash.reason, crash.info.queued), (Reason::of("no paper"), 0));
/// ```
pub fn on_crash(f: impl Fn(&Crash) + Send + Sync + 'static) {
    let before = hook().lock().replace(Arc::new(f));
    if before.is_some() {
        user_code::run("a function for crashes", || drop(before));
    }
}

impl Crash {
    /// What is to be said of an actor that ends for this reason, before its mailbox is closed.
    #[inline]
    pub(crate) fn of(process: &(dyn Process + 'static), reason: &Reason) -> Option<Box<Crash>> {
        let life = process.life();
        match reason {
            _ if life.has_mark(PANICKED) => Crash::while_it_ends(&this(process), reason),
            Reason::Panic(_) => Some(Crash::new(&this(process), reason)),
            Reason::Other(_) if life.has_mark(OWN) && hook().lock().is_some() => {
                Some(Crash::new(&this(process), reason))
            }
            _ => None,
        }
    }

    #[cold]
    fn while_it_ends(pid: &Pid, told: &Reason) -> Option<Box<Crash>> {
        let panic = pid.life().with_extra(|extra| extra.panic.take()).flatten()?;
        let mut crash = Crash::new(pid, &panic);
        crash.told = Some(told.clone());
        Some(crash)
    }

    #[cold]
    fn new(pid: &Pid, reason: &Reason) -> Box<Crash> {
        let last_message = pid.life().with_extra(|extra| extra.control.as_deref_mut()?.last_message.take());
        let last_message = last_message.flatten();
        Box::new(Crash {
            pid: pid.clone(),
            reason: reason.clone(),
            info: pid.info(),
            last_message,
            child: None,
            told: None,
        })
    }

    /// Tells the program's function, if there is one; in a [`user_code::call`]. The panic of a
    /// child is said here, before its supervisor starts it anew.
    pub(crate) fn tell(&self) {
        if self.child.is_some() || self.told.is_some() {
            self.report();
        }
        let hook = if self.told.is_some() || self.pid.life().has_mark(OWN) { hook().lock().clone() } else { None };
        if let Some(hook) = hook {
            // (It may be the last that has it.)
            run_nested("a function for crashes", move || hook(self));
        }
    }

    /// Says a panic as the settings of the runtime want it.
    pub(crate) fn report(&self) {
        if matches!(self.reason, Reason::Panic(_)) {
            user_code::report(&self.to_string());
        }
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        who(f, &self.info)?;
        if let Some(child) = &self.child {
            let comma = if self.info.server.is_some() { "" } else { "," };
            write!(f, "{comma} child '{child}' of a supervisor,")?;
        }
        match (&self.reason, &self.told) {
            (reason, Some(told)) => write!(f, " was told to end ({told}), and {reason}")?,
            (Reason::Panic(_), _) if !self.pid.life().has_mark(OWN) => write!(f, " was ended: {}", self.reason)?,
            (Reason::Panic(_), _) => write!(f, " {}", self.reason)?,
            _ => write!(f, " failed: {}", self.reason)?,
        }
        if let Some(message) = &self.last_message {
            write!(f, "; it handled {message}")?;
        }
        if self.info.queued > 0 {
            write!(f, "; {} messages waited", self.info.queued)?;
        }
        if !self.info.ancestors.is_empty() {
            f.write_str("; spawned by ")?;
            list(f, &self.info.ancestors)?;
        }
        Ok(())
    }
}
