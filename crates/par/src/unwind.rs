//! The one place of this crate that catches and resumes panics, and where parts hear of them.

use myriad_core::cancel::Cancelled;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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

/// Tells the other parts of something that one of them unwinds, so that they end soon, and nobody splits any more.
///
/// A cancellation is passed on by joins, one part after the other; whoever it has reached has nothing to do then, and would take from
/// those that it has not. Without this flag a loop over a long range would be split faster than it is cancelled.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// Does a part unwind?
    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: nothing is read that it stands for.
        self.0.load(Relaxed)
    }

    /// Sets it, if the caller unwinds before the alarm is disarmed. In the innermost frame: a join on the way out waits for others.
    #[inline(always)]
    pub(crate) fn alarm(&self) -> Alarm<'_> {
        Alarm(self)
    }
}

/// See [`Stop::alarm`].
pub(crate) struct Alarm<'a>(&'a Stop);

impl Alarm<'_> {
    #[inline(always)]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Relaxed);
    }
}
