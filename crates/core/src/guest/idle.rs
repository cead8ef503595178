//! Who wants to know that a worker has nothing to do.
//!
//! For a library that divides a call by a number which is set beforehand (OpenBLAS): while all workers are busy it had better not
//! divide, and nobody asks us before a call. So the number is lowered while they are, and here is where it is raised again.

use crate::sched::worker::Worker;
use std::sync::OnceLock;

static LISTENER: OnceLock<fn(usize)> = OnceLock::new();

/// From now on `listener` is called by each worker (but spares) that is about to sleep, or ends, with the [number](super::number) of its pool. There
/// is one in a process, for good. False: there is one already.
///
/// When it is called, [`has_idle`](super::has_idle) says already that somebody sleeps. So who first writes what the listener
/// reads, and then asks that, misses nobody, if there is a SeqCst fence between the two: it pairs with the heavy fence in
/// `Crew::fall_asleep`.
///
/// The listener does not block and does not panic.
pub fn when_idle(listener: fn(usize)) -> bool {
    LISTENER.set(listener).is_ok()
}

/// This worker has nothing to do.
#[inline]
pub(crate) fn tell_idle(w: &Worker) {
    if let Some(listener) = LISTENER.get()
        && !w.spare
    {
        listener(usize::from(w.hub.number));
    }
}
