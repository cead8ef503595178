//! The one door to user code: the only place that calls a waker or a hook, and drops a value of the
//! user's, where the engine is in the middle of something.
//!
//! *User code* is what the engine runs and has not written: a closure, a future, a waker (its
//! `wake`, `clone` and `drop`), the destructor of a result, of a message or of a panic's payload, a
//! hook. All of it may do whatever a task may do: wait, spawn, cancel, panic, drop the last handle
//! of what the engine is looking at, or go on with another worker's role. Tasks' own bodies run
//! where tasks begin; all the rest comes through here.
//!
//! **What the door does.**
//! 1. *It takes the worker's role by value and returns the role read anew.* So nothing that was
//!    known of the worker outlives user code (`Role`).
//! 2. *It says who runs.* In a task that is the task, as it was. Where no task runs (a worker's
//!    loop fires a timer, or tells a joiner), the code gets a task of its own for as long as it
//!    runs (`alone`): in fiber mode several pieces of such code are under way on one thread, and
//!    each needs cancel scopes, task-locals and a place to wait of its own.
//! 3. *It keeps cancellations off*: the code is not part of what was cancelled. Limits inside work.
//! 4. *It stops panics*, because what called it must go on. A panic nobody can receive is reported
//!    as the runtime's settings say.
//!
//! **Storage.** The engine keeps users' values and wakers as [`UserValue`] and [`StoredWaker`].
//! These have no drop glue, so no assignment, no `clear`, no end of a struct and no unwinding runs
//! user code by accident, under a lock or elsewhere. `test.rs` holds the types that must stay
//! without drop glue. The price: what is forgotten leaks; so both are `#[must_use]`.
//!
//! **Not under a lock.** No caller of the door holds a lock of the engine, or a borrow that the
//! code could want.

mod alone;
mod stored;
#[cfg(all(test, not(loom)))]
mod test;

pub use stored::{StoredWaker, UserValue};

use crate::record::current::CurrentTask;
use crate::sched::unwind::{self, Payload};
use crate::sched::worker::{self, Role};
use crate::sched::{cancel, unhandled};
use myriad_base::sys::mutant::fault;

/// Runs user code, on whatever thread; a panic comes back as an error.
///
/// The calling task runs it, or the thread; where neither is there, a task of its own does.
/// Cancellations are kept off.
pub fn call<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    call_as(worker::current(), f).1
}

/// Runs what the calling task is there for: its closure, a poll of its future, what a scope or a
/// limit is around; or, on a thread that is no worker's, what it was called for. Its panic is
/// caught, and is the task's. It is no guest in the middle of something of the engine, as what
/// [`call`] runs: it runs as who calls, and a cancellation is meant for it. So who calls this holds
/// no role, no lock and no borrow, and has left all that it holds as others may find it. (Or it is
/// code within a [`call`], whose shield counts for it too.)
#[inline(always)]
pub fn body<R>(f: impl FnOnce() -> R) -> Result<R, Payload> {
    unwind::catch(f)
}

/// Runs user code, as [`call`] does, for a caller that has a role. The role that comes back is that
/// of the calling thread now.
pub(crate) fn call_as<R>(w: Option<Role>, f: impl FnOnce() -> R) -> (Option<Role>, Result<R, Payload>) {
    match w {
        Some(w) if w.running.get() == CurrentTask::NOTHING && !fault("as-nobody") => {
            let (w, result) = alone::call(w, f);
            (Some(w), result)
        }
        w => {
            // (Not ended by a drop: all that unwinds is caught here.)
            let held = cancel::hold_off(w.as_deref());
            let result = if fault("panics-pass") { Ok(f()) } else { unwind::catch(f) };
            held.end();
            let result = result.map_err(settled);
            (w.map(Role::refresh), result)
        }
    }
}

/// Drops a value of the user's where it is, on whatever thread; a panic of its destructor comes
/// back as an error.
///
/// # Safety
/// The place holds a value, and nobody uses that afterwards.
#[inline]
pub(crate) unsafe fn drop_in_place<T: ?Sized>(place: *mut T) -> Result<(), Payload> {
    if !std::mem::needs_drop::<T>() {
        return Ok(());
    }
    // SAFETY: the place holds a value, which is dropped here, once (this function's contract).
    call(|| unsafe { std::ptr::drop_in_place(place) })
}

/// A payload that has come out of user code, and may go anywhere now.
fn settled(mut payload: Payload) -> Payload {
    cancel::end_cancellation(&mut payload);
    payload
}

/// Runs user code whose panic nobody can receive: it is reported. `what` names the code, for that
/// message: "a waker".
pub fn run(what: &str, f: impl FnOnce()) {
    _ = run_as(worker::current(), what, f);
}

/// Runs user code whose panic nobody can receive, as [`run`] does, for a caller that has a role.
pub(crate) fn run_as(w: Option<Role>, what: &str, f: impl FnOnce()) -> Option<Role> {
    let (w, result) = call_as(w, f);
    match result {
        Ok(()) => w,
        Err(payload) => unhandled::report_user_code(w, what, payload),
    }
}
