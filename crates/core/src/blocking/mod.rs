//! Calls that hold up their thread (system calls, foreign libraries) or keep it busy (computations), made on threads that are
//! there for it.
//!
//! ```text
//!  caller's frame: Call { closure, result, wait } <--- Job { run, call } ---> pool's queue ---> a thread of the pool
//!  caller: put the job in, block                        thread: run the closure, store the result, wake the caller
//! ```
//! **Invariant.** The frame stands until the job has run: the caller waits without a limit, and the pool never drops a job.
//!
//! **Ordering.** The job goes by the pool's mutex; the result by the wake ([`crate::wait`]). The thread touches the frame last
//! when it takes the target out of it; after the wake the frame may be gone.

mod compute;
mod future;
mod pool;

pub use compute::{compute, compute_async};
pub use future::{Blocking, blocking_async};

use crate::task::context::Loan;
use crate::unwind::{self, Payload};
use crate::wait::{Target, Wait};
use pool::{BLOCKING, Pool};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;

/// What the pool runs.
pub(crate) struct Job {
    run: unsafe fn(*mut ()),
    data: *mut (),
}

// SAFETY: `data` is a closure that may be sent, with its frame or box; it is used by one thread at a time.
unsafe impl Send for Job {}

impl Job {
    /// Runs it.
    fn run(self) {
        // SAFETY: made for this data, and run once, for `self` is gone.
        unsafe { (self.run)(self.data) };
    }
}

/// A call whose caller waits.
struct Call<F, T> {
    closure: UnsafeCell<ManuallyDrop<F>>,
    result: UnsafeCell<Option<Result<T, Payload>>>,
    /// The caller goes on there, with what belongs to it.
    loan: Loan,
    target: UnsafeCell<Option<Target>>,
}

/// Calls `f` on a thread where it may block the thread itself, and returns its result.
///
/// For system calls, libraries that wait by themselves, and locks that know nothing of tasks. (For long computations there is
/// [`compute`], with a table of what is for what.) The thread comes from an elastic pool of the process: idle ones are used
/// again, new ones are started when all are busy, up to 512; further calls wait for their turn; one that has been idle
/// for 10 s ends. `f` may borrow from the caller, which does not go on before it has ended.
///
/// It is still the caller that runs: `f` sees the task's own task-locals, scoped values and random numbers.
///
/// On a foreign thread, which is there to be blocked, `f` is simply called; so it is if the system has no thread for the
/// pool, or no memory for the stack on which the worker would go on meanwhile.
///
/// # Blocking
/// Until `f` has ended; the calling task is set aside. What `f` itself waits for, it waits for as a foreign thread does.
///
/// # Panics
/// If `f` panics, its panic goes on here.
///
/// # Examples
/// ```
/// let path = std::env::temp_dir();
/// let entries = myriad_core::run(|| myriad_core::blocking(|| std::fs::read_dir(&path).unwrap().count()));
/// # let _ = entries;
/// ```
pub fn blocking<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    call_on(&BLOCKING, f)
}

/// Calls `f` on a thread of this pool.
fn call_on<F, T>(pool: &'static Pool, f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let wait = Wait::new();
    if crate::sched::worker::current().is_none() || wait.prepare().is_err() {
        return f();
    }
    let call = Call {
        closure: UnsafeCell::new(ManuallyDrop::new(f)),
        result: UnsafeCell::new(None),
        loan: Loan::new(),
        target: UnsafeCell::new(Some(wait.target())),
    };
    let job = Job { run: run_call::<F, T>, data: (&raw const call).cast_mut().cast() };
    match pool.submit(job) {
        // SAFETY: prepared; the pool runs the job, which wakes the target, once.
        Ok(()) => unsafe { wait.block() },
        // Nobody else has it: the call is made here.
        Err(_) => {
            call.loan.give_back();
            return ManuallyDrop::into_inner(call.closure.into_inner())();
        }
    }
    call.loan.give_back();
    match call.result.into_inner().expect("the call has ended") {
        Ok(value) => value,
        Err(payload) => unwind::resume(payload),
    }
}

/// # Safety
/// `data` is a `Call<F, T>` that stands until its target is woken, and has not run.
unsafe fn run_call<F: FnOnce() -> T, T>(data: *mut ()) {
    let call = data.cast::<Call<F, T>>();
    // SAFETY: the caller: ours alone until the wake.
    let target = unsafe {
        let f = ManuallyDrop::take(&mut *(*call).closure.get());
        *(*call).result.get() = Some((*call).loan.run_on_thread(f));
        (*(*call).target.get()).take()
    };
    if let Some(target) = target {
        // SAFETY: the wait has no limit, so it needs no claim; woken once.
        unsafe { target.wake() };
    }
}
