//! Gangs: jobs that all run at the same time, each on a thread of its own, which keeps it to the
//! end.
//!
//! ```text
//!  gang(n, f):  places for n (admission) ─> n - 1 helpers, or an error (helpers) ─> f(0) here, f(1)..f(n - 1) there
//!               ─> wait, as a thread, until the last has ended ─> places back, panics go on
//! ```
//! For code that waits for its own other parts by looking at memory, as the kernels of OpenBLAS do:
//! it hangs if two parts share a thread, if one part is set aside for another, or if a part has not
//! begun because its worker is busy.
//!
//! **The caller's thread is one of them,** and is not set aside from the first job to the last, for
//! a library that calls back may hold a lock of the system meanwhile: if another task of the same
//! thread came to that library then, it would wait for itself.
//!
//! **Invariant.** The closure is borrowed from the caller's frame, which stands until each job has
//! counted itself off; that is the last that a job does with it.
//!
//! **Ordering.** The count ends with an AcqRel decrement, and the last opens the parker (Release,
//! for the Acquire of the caller's look).
//!
//! **Rejected.** *Idle workers as the other threads:* a worker that one asks may take something
//! else first, so that a reservation is not certain until each has answered, some 50 µs later; and
//! what is blocked on a worker can go on only there (in fiber mode), so ten seconds of a spinning
//! kernel would hold up tasks that have nothing to do with it. A thread of its own costs an idle
//! worker nothing: the worker sleeps meanwhile. *All jobs on helpers, and the caller set aside:*
//! see above; and one thread more that runs.
//!
//! Tests: `crates/myriad/tests/tasks/gangs.rs`; without threads: `test.rs`.

mod admission;
mod helpers;
#[cfg(all(test, not(loom)))]
mod test;

use super::keep_thread::keep_thread;
use crate::runtime::left::{Told, when_left};
use crate::runtime::pools;
use crate::sched::borrower::{Borrower, with_borrower};
use crate::sched::context::inherit::Inherited;
use crate::sched::unwind::{self, AbortOnUnwind, Payload};
use crate::sched::user_code::UserValue;
use crate::sched::wait::foreign;
use admission::GangPermits;
use helpers::Helper;
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::{AtomicUsize, Ordering::*};
use myriad_base::sys::fork::{self, GiveBack, Rank};
use myriad_base::sys::futex::Parker;
use myriad_base::sys::mutex::Mutex;
use std::cell::Cell;
use std::sync::Arc;
use std::{fmt, io};

/// More jobs than this at a time are surely a mistake.
const MOST: usize = 4096;

/// For `fork`: no other thread changes what gangs share meanwhile.
fn take() -> GiveBack {
    let held = (admission::lock(), helpers::lock());
    Box::new(move |_| drop(held))
}

thread_local! {
    /// Is this thread in a job?
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
}

/// Why a gang did not begin: see [`try_gang`]. None of its jobs has run.
#[derive(Debug)]
#[non_exhaustive]
pub enum GangError {
    /// The caller is itself a job of a gang, which would wait for its own end.
    Nested,
    /// More jobs than any machine has processors.
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// How many there may be.
        most: usize,
    },
    /// The system has not so many threads.
    NoThread(io::Error),
    /// There is no memory for a stack to go on with while the caller waits for its turn.
    NoStack(String),
}

impl fmt::Display for GangError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GangError::Nested => f.write_str(
                "a gang inside a job of a gang would wait for itself: run the parts with `join` or `scope`, or begin it elsewhere",
            ),
            GangError::TooMany { asked, most } => {
                write!(f, "a gang of {asked} jobs is too large, the most is {most}: ask for as many as processors")
            }
            GangError::NoThread(error) => {
                write!(f, "no threads for all jobs of a gang, so none has begun: {error}; ask for fewer jobs")
            }
            GangError::NoStack(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for GangError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            GangError::NoThread(error) => Some(error),
            _ => None,
        }
    }
}

impl From<NoStack> for GangError {
    fn from(error: NoStack) -> GangError {
        GangError::NoStack(error.to_string())
    }
}

/// What the jobs of a gang share. In an `Arc`, for who opens the parker must not find it gone.
struct Shared {
    left: AtomicUsize,
    done: Parker,
    /// The panic of the first job, by number, that has panicked.
    panic: Mutex<First>,
}

/// A job's number, and its panic.
pub(crate) type First = Option<(usize, UserValue<Payload>)>;

/// The closure, in the caller's frame.
struct Borrowed(*const (dyn Fn(usize) + Sync));
// SAFETY: a reference to what is `Sync`; see the module's invariant.
unsafe impl Send for Borrowed {}

/// Runs `f(0)`, `f(1)` … `f(n - 1)` all at the same time, each on an OS thread of its own that does
/// nothing else until its job ends.
///
/// For code whose parts wait for each other without telling anybody: kernels that spin on flags,
/// barriers of a foreign library. Such a part hangs if another one has not begun, or is set aside.
/// (Everything else is better off with [`scope`](crate::scope()) or [`join`](crate::join), whose
/// parts may run one after the other.) The caller's thread is one of them and runs `f(0)`; the
/// others are threads kept for gangs, and come beside the workers.
///
/// Either all jobs have a thread or none begins. All gangs of the process together get as many
/// threads as there are processors; the next waits for its turn, first come, first served. One of
/// as many jobs as processors, or more, is alone.
///
/// Inside a job nothing sets it aside: it waits for our channels, locks and times as a thread that
/// is no worker, and its thread sleeps; the caller's worker is as good as in a long computation
/// meanwhile, and so are tasks that are blocked on it in fiber mode. In `compute(|| gang(..))` the
/// worker goes on. What a job spawns runs on the workers of the caller's pool. A job sees scoped
/// values and random numbers like a task that the caller spawns; its task-locals are its own.
///
/// A start costs some 10 µs. After `fork`, in the child, gangs have new threads.
///
/// # Blocking
/// First until it is this gang's turn, and there the calling task is set aside; then until all jobs
/// have ended, and there it keeps its thread.
///
/// # Cancellation
/// While it waits for its turn. Jobs are not cancelled.
///
/// # Panics
/// If jobs panic, the panic of the one with the lowest number goes on here when all have ended. (If
/// the others wait for the one that has panicked, they never do.) If the gang cannot begin: see
/// [`try_gang`].
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::*};
/// let here = AtomicUsize::new(0);
/// myriad::task::gang(4, |i| {
///     here.fetch_add(1 << i, AcqRel);
///     while here.load(Acquire) != 0b1111 {       // all of them have to run for this to end
///         std::hint::spin_loop();
///     }
/// });
/// ```
#[doc(alias = "broadcast")]
pub fn gang<F>(n: usize, f: F)
where
    F: Fn(usize) + Sync,
{
    if let Err(error) = try_gang(n, f) {
        panic!("{error}");
    }
}

/// As [`gang`], but says why a gang cannot begin.
///
/// # Errors
/// [`Nested`](GangError::Nested) in a job of a gang, [`TooMany`](GangError::TooMany),
/// [`NoThread`](GangError::NoThread), [`NoStack`](GangError::NoStack). No job has run then.
///
/// # Panics
/// If jobs panic.
///
/// # Examples
/// ```
/// use myriad::task::{GangError, gang, try_gang};
/// gang(2, |_| assert!(matches!(try_gang(2, |_| ()), Err(GangError::Nested))));
/// ```
pub fn try_gang<F>(n: usize, f: F) -> Result<(), GangError>
where
    F: Fn(usize) + Sync,
{
    if IN_JOB.get() {
        return Err(GangError::Nested);
    }
    if n > MOST {
        return Err(GangError::TooMany { asked: n, most: MOST });
    }
    if n == 0 {
        return Ok(());
    }
    fork::hold(Rank::Gangs, take);
    when_left(Told::Gangs, admission::leave_all);
    let places = GangPermits::take(n)?;
    let result = keep_thread(|| run(n, &f));
    drop(places);
    match result? {
        None => Ok(()),
        Some((_, payload)) => unwind::resume(payload.give()),
    }
}

/// With its places taken, on a thread that is kept. Returns the panic of the first job, by number,
/// that has panicked.
fn run(n: usize, f: &(dyn Fn(usize) + Sync)) -> Result<First, GangError> {
    let helpers = Helper::engage(n - 1).map_err(GangError::NoThread)?;
    let pool = pools::inside();
    let shared = Arc::new(Shared { left: AtomicUsize::new(n), done: foreign::parker(), panic: Mutex::new(None) });
    let stays =
        AbortOnUnwind::new("a gang was left by a panic while its jobs run, which borrow from it (a bug in Myriad)");
    // SAFETY: only the lifetime changes. We stay here until all jobs have counted themselves off.
    let f: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(std::ptr::from_ref(f)) };
    for (helper, i) in helpers.into_iter().zip(1..) {
        let (inherited, shared, f) = (Inherited::new(None), shared.clone(), Borrowed(f));
        helper.run(Box::new(move || {
            let f = f;
            // SAFETY: this job has not counted itself off.
            with_borrower(Borrower::to_pool(pool), || unsafe { job(i, f.0, inherited, &shared) });
        }));
    }
    // SAFETY: job 0 is this thread's, and has not counted itself off; what it borrows is in this
    // frame, which waits for all jobs below.
    unsafe { job(0, f, Inherited::new(None), &shared) };
    while !foreign::is_open(&shared.done) {
        foreign::wait(&shared.done, None);
    }
    stays.disarm();
    Ok(shared.panic.lock().take())
}

/// Job `i`, which counts itself off at its end.
///
/// # Safety
/// `f` is there until all jobs have counted themselves off, job `i` among them, which has not yet.
unsafe fn job(i: usize, f: *const (dyn Fn(usize) + Sync), inherited: Inherited, shared: &Shared) {
    IN_JOB.set(true);
    // SAFETY: this job has not counted itself off, so `f` is there (this function's contract).
    let result = inherited.run(|| unsafe { (*f)(i) });
    IN_JOB.set(false);
    if let Err(payload) = result {
        let mut panic = shared.panic.lock();
        let keep = panic.as_ref().is_none_or(|(first, _)| i < *first);
        let mine = (i, UserValue::new(payload));
        let other = if keep { panic.replace(mine) } else { Some(mine) };
        drop(panic);
        if let Some((_, payload)) = other {
            unwind::discard(payload.give());
        }
    }
    // AcqRel: what each job did, for the one that opens the parker, and by that for the caller.
    if shared.left.fetch_sub(1, AcqRel) == 1 {
        // SAFETY: `shared` is in an `Arc` that this thread has too; the last one opens it, once.
        unsafe { foreign::open(&shared.done) };
    }
}
