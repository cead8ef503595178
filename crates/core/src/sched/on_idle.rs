//! Who wants to know that a worker has nothing to do.
//!
//! For a library that divides a call by a number which is set beforehand (OpenBLAS): while all
//! workers are busy it had better not divide, and nobody asks us before a call. So the number is
//! lowered while they are, and here is where it is raised again.

use crate::sched::worker::Worker;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// A `fn(usize)`, or null. (No `OnceLock`: in a process that is forked while it is set nobody would
/// end that.)
static LISTENER: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// From now on `listener` is called by each worker (but spares) that is about to sleep, or ends,
/// with the [number](crate::api::guest::number) of its pool. There is one in a process, for good.
/// False: there is one already.
///
/// When it is called, [`has_idle`](crate::api::guest::has_idle) says already that somebody sleeps.
/// So who first writes what the listener reads, and then asks that, misses nobody, if there is a
/// SeqCst fence between the two: it pairs with the heavy fence in `Workers::fall_asleep`.
///
/// The listener does not block and does not panic.
pub fn when_idle(listener: fn(usize)) -> bool {
    // Release: what the caller did before, for the Acquire in `tell_idle`.
    LISTENER.compare_exchange(null_mut(), listener as *mut (), Release, Relaxed).is_ok()
}

/// This worker has nothing to do.
#[inline]
pub(crate) fn tell_idle(w: &Worker) {
    // Acquire: pairs with the Release in `when_idle`.
    let listener = LISTENER.load(Acquire);
    if !listener.is_null() && !w.spare {
        // SAFETY: what is not null was put there by `when_idle`, from a function of this type.
        let listener = unsafe { std::mem::transmute::<*mut (), fn(usize)>(listener) };
        listener(usize::from(w.pool.number));
    }
}
