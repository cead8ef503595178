//! Calls that hold up their thread (system calls, foreign libraries) or keep it busy
//! (computations), made on threads that are there for it.
//!
//! ```text
//!  caller's frame: Call { closure, result, wait } <--- CallJob { run, call } ---> pool's queue ---> a thread
//!  caller: put the job in, block                        thread: run the closure, store the result, wake the caller
//! ```
//! **Invariant.** The frame stands until the job has run: the caller waits without a limit, and the
//! pool never drops a job.
//!
//! **Cancellation.** A caller that is cancelled passes that on, as a join does: the thread is in a
//! [cancel_scope](crate::sched::cancel::cancel_scope) while it runs the closure, and that is
//! cancelled.
//!
//! **Ordering.** The job goes by the pool's mutex; the result by the wake ([`crate::sched::wait`]).
//! The thread touches the frame last when it takes the target out of it; after the wake the frame
//! may be gone.

mod compute;
mod future;

pub use compute::{compute, compute_async};
#[cfg(all(test, not(loom)))]
pub(crate) use future::AsyncCall;
pub use future::{Blocking, blocking_async};

use crate::queue::reason::WaitReason;
use crate::sched::borrower::{Borrower, with_borrower};
pub(crate) use crate::sched::calls::works_here;
use crate::sched::calls::{BLOCKING, CallJob, ThreadPool};
use crate::sched::cancel::cancel_scope::CancelScope;
use crate::sched::context::Relocated;
use crate::sched::unwind::{self, AbortOnUnwind, Payload};
use crate::sched::user_code::{self, UserValue};
use crate::sched::wait::{Parked, Wait, Waiter};
use crate::sched::{cancel, worker};
use myriad_base::sys::clock::Instant;
use myriad_base::sys::mutex::Mutex;
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;

/// A call whose caller waits. The wait comes first: see [`Wait::on_cancel`].
#[repr(C)]
struct Call<F, T> {
    wait: Wait,
    /// The cancel scope of the thread, once and as long as it runs the closure.
    asked: Mutex<CallAsked>,
    closure: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<Ended<T>>,
    /// The caller goes on there, with what belongs to it ...
    loan: Relocated,
    /// ... and as itself.
    caller: Borrower,
    waiter: UnsafeCell<Option<Waiter>>,
}

/// How a call has ended, once it has.
pub(crate) type Ended<T> = Option<UserValue<Result<T, Payload>>>;

#[derive(Default)]
struct CallAsked {
    cancelled: bool,
    cancel_scope: Option<*const CancelScope>,
}

impl<F, T> Call<F, T> {
    /// The caller is cancelled: so is the closure, for which it waits on.
    ///
    /// # Safety
    /// `node` is the node of a `Call`, and points into the whole. The owner of that is blocked, and
    /// does not go on before this returns.
    unsafe fn pass_on(node: *const Parked) -> bool {
        const { assert!(std::mem::offset_of!(Self, wait) == 0) };
        // SAFETY: the node is that of a `Call`'s wait, by the contract; the call stands as long as
        // its owner waits.
        let call = unsafe { &*node.cast::<Self>() };
        let mut asked = call.asked.lock();
        asked.cancelled = true;
        if let Some(cancel_scope) = asked.cancel_scope {
            // Nobody is left to ask: a thread has been told by this.
            // SAFETY: the cancel scope is there only while the thread is in it, and the thread
            // takes this lock to take it out.
            _ = unsafe { CancelScope::cancel(cancel_scope) };
        }
        false
    }

    /// Calls the closure on a thread of the pool, in a cancel scope.
    fn run_in_region<R>(&self, f: impl FnOnce() -> R) -> Result<R, Payload> {
        let mut cancel_scope = CancelScope::new(false, Instant::NEVER);
        cancel_scope.enter();
        let cancel_scope = &cancel_scope;
        let cancelled = {
            let mut asked = self.asked.lock();
            asked.cancel_scope = Some(cancel_scope);
            asked.cancelled
        };
        // Where a panic aborts it is only asked.
        let result = if cancelled && !cfg!(panic = "abort") { cancel::never_start(f) } else { user_code::body(f) };
        self.asked.lock().cancel_scope = None;
        cancel_scope.leave();
        result.map_err(|mut payload| {
            cancel::end_cancellation(&mut payload);
            payload
        })
    }
}

/// Calls `f` on a thread where it may block the thread itself, and returns its result.
///
/// For system calls, libraries that wait by themselves, and locks that know nothing of tasks. (For
/// long computations there is [`compute`], with a table of what is for what.) The thread comes from
/// an elastic pool of the process: idle ones are used again, new ones are started when all are
/// busy, up to 512; further calls wait for their turn; one that has been idle for 10 s ends. `f`
/// may borrow from the caller, which does not go on before it has ended.
///
/// It is still the caller that runs: `f` sees the task's own number and name
/// ([`task::current`](crate::task::current)), task-locals, scoped values and random numbers, and
/// what it spawns goes to the task's own runtime and pool.
///
/// On a foreign thread, which is there to be blocked, `f` is simply called; so it is if the system
/// has no thread for the pool, or no memory for the stack on which the worker would go on
/// meanwhile.
///
/// # Blocking
/// Until `f` has ended; the calling task is set aside. What `f` itself waits for, it waits for as a
/// foreign thread does.
///
/// # Cancellation
/// A task that is cancelled meanwhile passes that on to `f`, and waits on: `f` unwinds from its
/// next wait in this library, may ask [`is_cancelled`](crate::cancel::is_cancelled), or never
/// begins. What the system waits for is not interrupted.
///
/// # Panics
/// If `f` panics, its panic goes on here.
///
/// # Examples
/// ```
/// let path = std::env::temp_dir();
/// let entries = myriad::run(|| myriad::blocking(|| std::fs::read_dir(&path).unwrap().count()));
/// # let _ = entries;
/// ```
#[doc(alias = "block_in_place")]
#[doc(alias = "unblock")]
#[doc(alias = "spawn_blocking")]
pub fn blocking<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    call_on(&BLOCKING, f)
}

/// Calls `f` on a thread of this pool.
fn call_on<F, T>(pool: &'static ThreadPool, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let wait = Wait::new(WaitReason::Blocking);
    if wait.prepare().is_err() {
        return f();
    }
    // (CallAsked for after that, which may start a thread.)
    let Some(w) = worker::current() else { return f() };
    // SAFETY: the wait is moved into the `Call` below, as its first field (checked in `pass_on`),
    // before anybody knows it; the call stands in this frame until the wait is over.
    unsafe { wait.on_cancel(Call::<F, T>::pass_on) };
    let mut call = Call {
        wait,
        asked: Mutex::default(),
        closure: UnsafeCell::new(ManuallyDrop::new(f)),
        result: UnsafeCell::new(None),
        caller: Borrower::to_running(&w),
        loan: Relocated::new(),
        waiter: UnsafeCell::new(None),
    };
    *call.waiter.get_mut() = Some(call.wait.waiter());
    let job = CallJob { run: run_call::<F, T>, data: (&raw const call).cast_mut().cast() };
    let stays = AbortOnUnwind::new(
        "a `blocking` or `compute` was left by a panic while a thread makes the call, whose data are in its frame (a bug in Myriad)",
    );
    let is_there = pool.submit(job).is_ok();
    if is_there {
        // SAFETY: prepared; the pool runs the job, which wakes the target, once.
        unsafe { Wait::block((&raw const call).cast()) };
    }
    stays.disarm();
    call.loan.give_back();
    if !is_there {
        // Nobody else has it: the call is made here.
        return ManuallyDrop::into_inner(call.closure.into_inner())();
    }
    match call.result.into_inner().expect("the call has ended").give() {
        Ok(value) => value,
        Err(payload) => unwind::resume(payload),
    }
}

/// # Safety
/// `data` is a `Call<F, T>` that stands until its target is woken, and has not run.
unsafe fn run_call<F: FnOnce() -> T, T>(data: *mut ()) {
    let call = data.cast::<Call<F, T>>();
    // SAFETY: the call stands until we wake its target, and has not run (this function's contract),
    // so the closure is taken once. Until the wake nobody else looks into the three cells; what its
    // owner uses of the call meanwhile (`pass_on`) is the lock.
    let waiter = unsafe {
        let f = ManuallyDrop::take(&mut *(*call).closure.get());
        let call = &*call;
        let result = with_borrower(call.caller, || call.loan.run_on_thread(|| call.run_in_region(f)));
        *call.result.get() = Some(UserValue::new(result.and_then(|result| result)));
        (*call.waiter.get()).take()
    };
    if let Some(waiter) = waiter {
        // SAFETY: the wait has no limit, so it needs no claim; woken once.
        unsafe { waiter.wake() };
    }
}
