//! Panics that have no joiner to go to: of a detached task, and of user code that the engine calls
//! by the way.

use crate::record::current::CurrentTask;
use crate::record::header::Header;
use crate::record::held::{Finished, Untyped};
use crate::sched::pool::Pool;
use crate::sched::unwind::{self, Payload};
use crate::sched::worker::{self, Role};
use crate::sched::{cancel, user_code};
use myriad_base::sys::say::say;
use std::fmt;
use std::sync::Arc;

/// What becomes of the panic of a task whose handle was dropped.
///
/// # Examples
/// ```
/// use myriad::{Builder, Unhandled};
/// use std::sync::{Arc, mpsc::channel};
/// let (tx, lines) = channel();
/// let hook = Unhandled::Hook(Arc::new(move |line: &str| tx.send(line.to_owned()).unwrap()));
/// let rt = Builder::new().on_unhandled_panic(hook).build()?;
/// drop(rt.spawn(|| panic!("nobody joins it")));
/// assert!(lines.recv().unwrap().ends_with("nobody joins it"));
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Default)]
pub enum Unhandled {
    /// A line on the standard error.
    ///
    /// In debug builds there are hints too, a line for each place: about a task whose closure has
    /// returned a future that nobody polls (`spawn(|| async { .. })`), and about a future that
    /// blocks in a call with an asynchronous form. All other settings switch hints off.
    #[default]
    Report,
    /// Nothing more than what std's panic hook says.
    Ignore,
    /// The process aborts.
    Abort,
    /// Calls this function with a line of text, on the worker.
    Hook(Arc<dyn Fn(&str) + Send + Sync>),
}

impl fmt::Debug for Unhandled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unhandled::Report => "Report",
            Unhandled::Ignore => "Ignore",
            Unhandled::Abort => "Abort",
            Unhandled::Hook(_) => "Hook(..)",
        })
    }
}

/// Says that a detached task panicked, if it did, as the runtime's settings want it.
#[cold]
pub(crate) fn report(w: Option<Role>, finished: &Finished<Untyped>) -> Option<Role> {
    let Some(payload) = finished.panic() else { return w };
    let task = finished.task_ref();
    let (pool, location) = (Pool::of_task(task), task.location());
    if cancel::is_cancellation(payload) {
        return w;
    }
    let who = match pool.name_of(task.as_ptr(), true) {
        Some(name) => format!("detached task '{name}' (spawned at {location})"),
        None => format!("a detached task (spawned at {location})"),
    };
    tell(w, pool, &format!("{who} panicked: {}", unwind::message(&**payload)))
}

/// Says that the destructor of something that belongs to a task, or to a thread if it is null,
/// panicked at its end.
///
/// # Safety
/// The record is null, nobody's, or lives.
#[cold]
pub(crate) unsafe fn report_destructor(
    w: Option<Role>,
    task: *mut Header,
    what: &str,
    payload: Payload,
) -> Option<Role> {
    let text = unwind::message(&*payload);
    let w = if task.is_null() || CurrentTask::is_nobody(task) {
        say!("myriad: the destructor of {what} of a thread panicked: {text}");
        w
    } else {
        // SAFETY: the record lives.
        let (pool, location) = unsafe { (Pool::of((*task).runtime()), (*task).location()) };
        let who = match pool.name_of(task, true) {
            Some(name) => format!("task '{name}' (spawned at {location})"),
            None => format!("the task spawned at {location}"),
        };
        tell(w, pool, &format!("the destructor of {what} of {who} panicked: {text}"))
    };
    unwind::discard_as(w, payload)
}

/// Says that user code panicked which the engine called, and whose panic nobody can receive. `what`
/// names the code.
#[cold]
#[inline(never)]
pub(crate) fn report_user_code(w: Option<Role>, what: &str, payload: Payload) -> Option<Role> {
    if cancel::is_cancellation(&payload) {
        return unwind::discard_as(w, payload);
    }
    let text = format!("{what} panicked: {}", unwind::message(&*payload));
    let w = match &w {
        Some(role) => {
            let pool = role.pool;
            tell(w, pool, &text)
        }
        None => {
            say!("myriad: {text}");
            w
        }
    };
    unwind::discard_as(w, payload)
}

/// Says that something of the user's panicked that is no task of the engine's own, as the settings
/// of the caller's runtime want it.
pub fn report_text(text: &str) {
    match worker::current() {
        Some(w) => {
            let pool = w.pool;
            _ = tell(Some(w), pool, text);
        }
        None => say!("myriad: {text}"),
    }
}

fn tell(w: Option<Role>, pool: &'static Pool, text: &str) -> Option<Role> {
    match pool.config().unhandled.clone() {
        Unhandled::Ignore => w,
        Unhandled::Report => {
            say!("myriad: {text}");
            w
        }
        Unhandled::Abort => {
            say!("myriad: {text}; aborting, as the runtime was told");
            std::process::abort();
        }
        Unhandled::Hook(hook) => {
            // (What the hook holds goes with it: it may be the last who has it.)
            let (w, called) = user_code::call_as(w, move || hook(text));
            let Err(payload) = called else { return w };
            say!("myriad: {text}; and the hook for such panics panicked too");
            unwind::discard_as(w, payload)
        }
    }
}
