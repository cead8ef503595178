//! The panic of a detached task, which has no joiner to go to.

use super::context::Word;
use super::header::Header;
use super::record;
use crate::cancel;
use crate::runtime::Unhandled;
use crate::runtime::hub::Hub;
use crate::unwind::{self, Payload};

/// Says that a detached task panicked, as the runtime's settings want it.
///
/// # Safety
/// The task has panicked, and its payload is still in the record, which is the caller's.
#[cold]
pub(crate) unsafe fn report(hub: &'static Hub, task: *mut Header) {
    // SAFETY: the caller.
    let (place, payload) = unsafe { ((*task).place, &*record::get::<Payload>(task)) };
    if cancel::is_cancellation(payload) {
        return;
    }
    let who = match hub.name_of(task, true) {
        Some(name) => format!("detached task '{name}' (spawned at {place})"),
        None => format!("a detached task (spawned at {place})"),
    };
    tell(hub, &format!("{who} panicked"), payload);
}

/// Says that the destructor of something that belongs to a task, or to a thread if it is null, panicked at its end.
///
/// # Safety
/// The record is null, nobody's, or lives.
#[cold]
pub(crate) unsafe fn report_destructor(task: *mut Header, what: &str, payload: Payload) {
    if task.is_null() || Word::is_nobody(task) {
        eprintln!("myriad: the destructor of {what} of a thread panicked: {}", unwind::message(&*payload));
    } else {
        // SAFETY: the caller.
        let (hub, place) = unsafe { (Hub::of((*task).runtime), (*task).place) };
        let who = match hub.name_of(task, true) {
            Some(name) => format!("task '{name}' (spawned at {place})"),
            None => format!("the task spawned at {place}"),
        };
        tell(hub, &format!("the destructor of {what} of {who} panicked"), &payload);
    }
    unwind::discard(payload);
}

fn tell(hub: &'static Hub, what: &str, payload: &Payload) {
    let text = unwind::message(&**payload);
    match hub.config().unhandled.clone() {
        Unhandled::Ignore => {}
        Unhandled::Report => eprintln!("myriad: {what}: {text}"),
        Unhandled::Abort => {
            eprintln!("myriad: {what}: {text}; aborting, as the runtime was told");
            std::process::abort();
        }
        Unhandled::Hook(hook) => {
            if let Err(payload) = unwind::catch(|| hook(&format!("{what}: {text}"))) {
                unwind::discard(payload);
                eprintln!("myriad: {what}: {text}; and the hook for such panics panicked too");
            }
        }
    }
}
