//! Panics of parts, and how the other parts hear of them.

pub(crate) use myriad_base::unwind::Payload;
use myriad_core::cancel::Cancelled;
pub(crate) use myriad_core::engine::unwind::{discard, drop_quietly, resume};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// `value`, when `rest` has been dropped.
///
/// For the end of a function that returns elements of the caller's and owns closures, or other
/// elements: their destructors may wait, and unwind in a cancelled task. By itself the compiler
/// drops them when the result is in its place for the caller already, where nobody drops it any
/// more (<https://github.com/rust-lang/rust/issues/47949>).
#[inline(always)]
pub(crate) fn after<T>(rest: impl Sized, value: T) -> T {
    drop(rest);
    value
}

/// Did it unwind because of a cancellation?
pub(crate) fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>()
}

/// Tells the other parts of something that one of them unwinds, so that they end soon, and nobody
/// splits any more.
///
/// A cancellation is passed on by joins, one part after the other; whoever it has reached has
/// nothing to do then, and would take from those that it has not. Without this flag a loop over a
/// long range would be split faster than it is cancelled.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// Does a part unwind?
    #[inline(always)]
    pub(crate) fn is_set(&self) -> bool {
        // Relaxed: nothing is read that it stands for.
        self.0.load(Relaxed)
    }

    /// Sets it, if the caller unwinds before the guard is disarmed. In the innermost frame: a join
    /// on the way out waits for others.
    #[inline(always)]
    pub(crate) fn on_unwind(&self) -> StopOnUnwind<'_> {
        StopOnUnwind(self)
    }
}

/// See [`Stop::on_unwind`].
pub(crate) struct StopOnUnwind<'a>(&'a Stop);

impl StopOnUnwind<'_> {
    #[inline(always)]
    pub(crate) fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for StopOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Relaxed);
    }
}
