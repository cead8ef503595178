//! Where a worker sleeps and is woken: what a reactor would wait in, too.
//!
//! The protocol of who sleeps and who wakes stands in [`crate::sched::idle`], and calls these two
//! functions alone.

use myriad_base::sys::futex::Parker;
use std::time::Duration;

/// Sleeps as long as the worker's word is `word`, for about `timeout` at most. May also return
/// early: the caller looks at the word again.
pub(crate) fn park(sleeping: &Parker, word: u32, timeout: Option<Duration>) {
    sleeping.wait(word, timeout);
}

/// Ends the sleep of a worker whose word the caller has taken.
pub(crate) fn unpark(sleeping: &Parker) {
    // SAFETY: a reference: the parker stands.
    unsafe { Parker::wake(sleeping) };
}
