//! The one place that catches and resumes panics; for the floors above, too.

use crate::cancel;
use crate::sched::worker::{self, Role};
use crate::user_code::{self, UserValue};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// Runs `f`; a panic stops here. (Asserting unwind safety is right: the payload goes to whoever waits for the task, and
/// what the task shared with others is behind their own locks, as with std's threads.)
#[inline(always)]
pub fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Lets a caught panic go on, without a second message.
#[cold]
pub fn resume(mut payload: Payload) -> ! {
    cancel::unsettle(&mut payload);
    resume_unwind(payload)
}

/// Drops a payload that nobody wants. Its destructor is user code, and may panic in its turn; that is where it ends.
#[cold]
pub fn discard(payload: Payload) {
    _ = discard_as(worker::current(), payload);
}

/// The same for one who has a role.
#[cold]
pub(crate) fn discard_as(w: Option<Role>, payload: Payload) -> Option<Role> {
    let (w, dropped) = user_code::call_as(w, || drop(payload));
    if let Err(second) = dropped {
        std::mem::forget(second);
    }
    w
}

/// A frame that others depend on must not be left by unwinding: tasks borrow from it, or a count, a list or a lock would be left
/// half done. Dropped by an unwinding, the guard ends the process and says why; the usual way forgets the guard.
#[derive(Debug)]
#[must_use = "the guard protects as long as it stands"]
pub struct AbortOnUnwind(&'static str);

impl AbortOnUnwind {
    /// From here to [`disarm`](Self::disarm) nothing may unwind. The message says what would be left.
    #[inline(always)]
    pub const fn new(message: &'static str) -> AbortOnUnwind {
        AbortOnUnwind(message)
    }

    /// It has not.
    #[inline(always)]
    pub fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for AbortOnUnwind {
    #[cold]
    fn drop(&mut self) {
        crate::sys::thread::abort_with(self.0);
    }
}

/// Drops something of the user's, through the door. If its destructor panics, that is where the panic ends (std's hook has told).
#[cold]
pub(crate) fn drop_quietly<T>(value: T) {
    _ = UserValue::new(value).drop_value().map_err(discard);
}

/// The text of a panic, if it has one.
pub(crate) fn message(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is not text)"
    }
}
