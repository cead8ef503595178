//! Code that must not be set aside: it keeps its thread, whatever it waits for.
//!
//! The thread's worker is hidden meanwhile ([`set_current`]): so all that waits finds a thread that
//! is no worker ([`crate::sched::wait::foreign`]), and waits like one. What it spawns and runs
//! still goes to the worker's pool ([`borrower`](crate::sched::borrower)). It is still the task
//! that runs, with its task-locals.
//!
//! **Invariant.** While the worker is hidden nothing suspends on this stack, and nothing else runs
//! on this worker: to the engine the task computes. So the worker is the same one afterwards, also
//! in threads mode.

use crate::sched::borrower::{Borrower, with_borrower};
use crate::sched::context::Relocated;
use crate::sched::unwind;
use crate::sched::worker::{self, set_current};

/// Calls `f` right here, so that nothing in it sets the task aside: whatever waits in it keeps the
/// thread.
///
/// For calls into foreign code that must not be left in the middle while other tasks run on the
/// same thread: it holds a lock of the system, has changed a thread-local for a while (what the
/// contract of [fiber mode](crate::Builder::fibers) forbids around a wait), or spins until others
/// go on. `f` is the task still, with its task-locals, scoped values and random numbers; what it
/// spawns runs on the workers of its pool. On a thread that is no worker `f` is simply called.
///
/// It costs some nanoseconds. [`blocking`](crate::blocking) is for calls that wait *long*: there
/// the worker goes on meanwhile.
///
/// # Blocking
/// What `f` waits for it waits for as a thread that is no worker: it sleeps, and its worker is
/// *stuck* meanwhile, as in a long computation. What has not begun there is taken over by other
/// workers, or by spare ones. But in fiber mode tasks that are blocked on this very worker wait
/// until `f` is over: if `f` waits for one of them, both wait for ever.
///
/// # Cancellation
/// None in `f`: it is found at the next wait after it. (A [token](crate::cancel::Token) that `f`
/// runs itself is found in `f`.)
///
/// # Panics
/// A panic of `f` goes on.
///
/// # Examples
/// ```
/// use myriad::{spawn, task::keep_thread};
/// let h = spawn(|| {
///     let lock = std::sync::Mutex::new(1);
///     keep_thread(|| {
///         let guard = lock.lock().unwrap();                // no task of this thread can come and want it
///         myriad::yield_now();
///         *guard + 1
///     })
/// });
/// assert_eq!(h.join().unwrap(), 2);
/// ```
#[doc(alias = "block_in_place")]
pub fn keep_thread<F, T>(f: F) -> T
where
    F: FnOnce() -> T,
{
    let Some(w) = worker::current() else { return f() };
    let to = Borrower::to_running(&w);
    let loan = Relocated::on_this_thread();
    // SAFETY: nothing below asks for a role, or suspends on this stack, before the worker is back.
    unsafe { set_current(None) };
    // Nothing unwinds through here before the worker is back: `run_on_thread` catches.
    let result = with_borrower(to, || loan.run_on_thread(f));
    // SAFETY: nobody else was given the role: only a wait gives it away, and the thread had none.
    unsafe { set_current(Some(w.as_static())) };
    loan.give_back();
    match result {
        Ok(value) => value,
        Err(payload) => unwind::resume(payload),
    }
}
