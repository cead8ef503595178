//! Where a worker's loop meets what is outside of its queues: the clock, sockets, and who waits for
//! it to have nothing to do.
//!
//! | place | when | what |
//! |---|---|---|
//! | [`poll`] | at each tick of the loop | the worker's timers; the reactor, if nobody has looked for a while |
//! | [`poll_reactor`] | it finds nothing | the reactor |
//! | [`look_before_wait`] | threads mode, a task is about to wait | the reactor, for blocked tasks only |
//! | [`poll_all`] | before it sleeps, after it has slept | the timers of all workers |
//! | [`before_sleep`] | all know that it sleeps | the listener; until when it sleeps |
//! | [`park::park`] | it sleeps, for how long at most is said | a futex |
//! | [`park::unpark`] | it is woken | the same futex |
//! | [`after_sleep`] | it was in the reactor | comes out, and hands the reactor over |
//!
//! `park` and `unpark` are called by the protocol of sleeping ([`crate::sched::idle`]), which has
//! models. It also enters the [`reactor`].
//!
//! **The listener** is for a library that divides a call by a number which is set beforehand
//! (OpenBLAS): while all workers are busy it had better not divide, and nobody asks us before a
//! call. So the number is lowered while they are, and here is where it is raised again.

pub(super) mod park;
pub(crate) mod phases;
pub(crate) mod reactor;

use crate::sched::idle::Slept;
use crate::sched::timers::Timers;
use crate::sched::worker::{self, OFTEN, Role, Worker};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};
use std::time::Duration;

/// Fires what is due on this worker. Wakers are user code, so the role is read anew.
#[inline]
pub(crate) fn poll(w: Role) -> Role {
    let w = Timers::poll(w);
    match w.pool.workers.reactor.get() {
        None => w,
        Some(reactor) => {
            // (By the clock, and not by turns: a turn that reads a socket takes a hundred times as
            // long as one that takes a message.)
            w.tick_interval.set(OFTEN);
            poll_in_order(w, || reactor.poll(true)).0
        }
    }
}

/// Wakes those that events of the system are for. True: there were some.
pub(crate) fn poll_reactor(w: Role) -> (Role, bool) {
    match w.pool.workers.reactor.get() {
        None => (w, false),
        Some(reactor) => poll_in_order(w, || reactor.poll(false)),
    }
}

/// For a task that is about to wait for a socket, in threads mode, where its worker has nothing
/// ready: looks for events itself. True: there were some, perhaps its own.
///
/// (Else its thread would hand the worker over to one that looks, and that one to the first whose
/// event it finds: an exchange of threads more for each look.) No user code runs: the task may hold
/// a lock or a thread-local that a waker wants, which is nobody's mistake where it only reads.
pub fn look_before_wait() -> bool {
    let Some(w) = worker::current() else { return false };
    // (Without the ring's lock: what is missed costs a look.)
    if w.are_fibers() || !w.shared.ready.looks_empty() {
        return false;
    }
    w.pool.workers.reactor.get().is_some_and(|reactor| reactor.poll_for_blocked())
}

/// Lets the reactor wake: the futures go behind all that are queued, in the order of their events.
/// (Before them, as others go that are woken, the last of a thousand connections would wait for
/// many rounds of the first: p99 66 ms in place of 14.)
fn poll_in_order(w: Role, poll: impl FnOnce() -> bool) -> (Role, bool) {
    let of = w.as_static();
    of.wakes_in_order.store(true, Relaxed);
    let any = poll();
    of.wakes_in_order.store(false, Relaxed);
    (w.refresh(), any)
}

/// A worker has slept. If that was in the reactor it comes out, and wakes those that the events are
/// for; and if its tasks were long of late another one that sleeps is to take its place.
pub(crate) fn after_sleep(w: Role, slept: Slept) -> Role {
    let Slept::InReactor(entered) = slept else { return w };
    let (w, any) = poll_in_order(w, || entered.leave());
    if any && w.phases.was_long() && w.pool.workers.has_sleepers() {
        w.pool.workers.wake_one();
    }
    w
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
