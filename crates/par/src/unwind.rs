//! The one place of this crate that catches and resumes panics.

use myriad_core::cancel::Cancelled;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// Runs `f`; a panic stops here. (Asserting unwind safety is right: the panic goes on to the caller, as with std's threads.)
#[inline(always)]
pub(crate) fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Lets a caught panic go on, without a second message.
#[cold]
pub(crate) fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// Drops a payload that nobody wants. Its destructor may panic in its turn; that is where it ends.
#[cold]
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch(|| drop(payload)) {
        std::mem::forget(second);
    }
}

/// Did it unwind because of a cancellation?
pub(crate) fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>()
}
