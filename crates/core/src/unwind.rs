//! The one place that catches and resumes panics; for the floors above, too.

use crate::cancel;
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

/// Drops a payload that nobody wants. Its destructor may panic in its turn; that is where it ends.
#[cold]
pub fn discard(payload: Payload) {
    if let Err(second) = catch(|| drop(payload)) {
        std::mem::forget(second);
    }
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
