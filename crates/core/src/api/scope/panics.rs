//! The first panic of a scope's task that nobody joins: kept until the scope's end.

use crate::sched::cancel;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code::UserValue;
use crate::sched::worker::Role;
use myriad_base::sys::mutex::Mutex;

/// The first panic that nobody has joined. It goes on, or is discarded through the door.
pub(crate) type Kept = Option<UserValue<Payload>>;

/// The first panic that nobody has joined goes on at the scope's end. A cancellation does not.
#[cold]
pub(super) fn keep(w: Role, panic: &Mutex<Kept>, payload: Payload) -> Role {
    match keep_first(panic, payload) {
        Some(payload) => unwind::discard_as(Some(w), payload).expect("a worker stays one"),
        None => w,
    }
}

/// Keeps the first panic; any other one, and a cancellation, comes back to be discarded, without
/// the lock: its destructor is user code.
pub(super) fn keep_first(panic: &Mutex<Kept>, payload: Payload) -> Option<Payload> {
    if cancel::is_cancellation(&payload) {
        return Some(payload);
    }
    let mut first = panic.lock();
    match *first {
        Some(_) => Some(payload),
        None => {
            *first = Some(UserValue::new(payload));
            None
        }
    }
}
