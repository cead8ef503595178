//! The panic of a detached task, which has no joiner to go to.

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
    let unhandled = hub.config().unhandled.clone();
    // SAFETY: the caller.
    let (place, payload) = unsafe { ((*task).place, &*record::get::<Payload>(task)) };
    if cancel::is_cancellation(payload) {
        return;
    }
    let name = hub.name_of(task, true);
    let who = match &name {
        Some(name) => format!("detached task '{name}' (spawned at {place})"),
        None => format!("a detached task (spawned at {place})"),
    };
    match unhandled {
        Unhandled::Ignore => {}
        Unhandled::Report => eprintln!("myriad: {who} panicked: {}", unwind::message(&**payload)),
        Unhandled::Abort => {
            eprintln!("myriad: {who} panicked: {}; aborting, as the runtime was told", unwind::message(&**payload));
            std::process::abort();
        }
        Unhandled::Hook(hook) => {
            let text = unwind::message(&**payload);
            if let Err(payload) = unwind::catch(|| hook(&format!("{who} panicked: {text}"))) {
                unwind::discard(payload);
                eprintln!("myriad: {who} panicked: {text}; and the hook for such panics panicked too");
            }
        }
    }
}
