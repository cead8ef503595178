//! Where a worker's loop meets what is outside of its queues: the clock, and who waits for it to
//! have nothing to do. What drives tasks from outside (a reactor of I/O) has its places here:
//!
//! | place | when | today |
//! |---|---|---|
//! | [`poll`] | at each tick of the loop | the worker's timers |
//! | [`poll_all`] | before it sleeps, after it has slept | the timers of all workers |
//! | [`before_sleep`] | all know that it sleeps | the listener; until when it sleeps |
//! | [`park::park`] | it sleeps, for how long at most is said | a futex |
//! | [`park::unpark`] | it is woken | the same futex |
//!
//! The last two are called by the protocol of sleeping ([`crate::sched::idle`]), which has models.
//!
//! **What a reactor needs that is not there.** A worker that waits in it, and not in its futex,
//! says so by a bit of its `sleeping` word: so who takes the word in `Workers::unpark` knows whom
//! to call, at the price of a test of a register. One worker at a time waits there. The reactor
//! wakes nobody in that wait, in which the worker is counted as asleep and has no role in hand: it
//! fires in [`poll`] and [`poll_all`], which take the role. And it lives as long as the process,
//! for who has taken the word may come with his call when the sleeper has long gone on.
//!
//! **The listener** is for a library that divides a call by a number which is set beforehand
//! (OpenBLAS): while all workers are busy it had better not divide, and nobody asks us before a
//! call. So the number is lowered while they are, and here is where it is raised again.

pub(super) mod park;

use crate::sched::timers::Timers;
use crate::sched::worker::{Role, Worker};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::time::Duration;

/// Fires what is due on this worker. Wakers are user code, so the role is read anew.
#[inline]
pub(crate) fn poll(w: Role) -> Role {
    Timers::poll(w)
}

/// Fires what is due on any worker of the pool; true if there was something.
pub(crate) fn poll_all(w: Role) -> (Role, bool) {
    Timers::poll_all(w)
}

/// This worker is about to sleep, and all know that; says how long at most.
pub(crate) fn before_sleep(w: &Worker) -> Option<Duration> {
    w.counters.sleeps.add(1);
    w.memory.show();
    tell_idle(w);
    Timers::until_next(w)
}

/// A `fn(usize)`, or null. (No `OnceLock`: in a process that is forked while it is set nobody would
/// end that.)
static LISTENER: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// From now on `listener` is called by each worker (but spares) that is about to sleep, or ends,
/// with the [number](crate::api::guest::number) of its pool. There is one in a process, for good.
/// False: there is one already.
///
/// When it is called, [`has_idle`](crate::api::guest::has_idle) says already that somebody sleeps.
/// So who first writes what the listener reads, and then asks that, misses nobody, if there is a
/// SeqCst fence between the two: it pairs with the heavy fence in `Workers::sleep_unless`.
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
