//! How many threads a call of OpenBLAS has: all while a worker has nothing to do, one while all are
//! busy.
//!
//! ```text
//!  all ── so many calls in a row are divided, and all workers of their pool are busy ──> one
//!   └<──── a worker of that pool has nothing to do, or ends ──────────────────────────────┘
//! ```
//! OpenBLAS divides a call by a number that is set beforehand, one for the process, and does not
//! ask us; only a call that is divided comes to [`run_gang`](super::run_gang). While as many tasks
//! call as there are workers, dividing is of no use: the calls take turns, and their parts wait for
//! each other. So there the number is lowered, for the calls that come next; and as none of these
//! comes to us, it is raised by the next worker that has nothing to do ([`guest::when_idle`]).
//!
//! **In a row:** the call that lowers is divided itself, and its parts share the processors with
//! the calls that come next, which costs as much as it. So it is worth while for a stream of calls:
//! it takes [`CALLS`] of them for each thread. (Four `dgemm` of 1024², of which the first lowered,
//! took 85 ms, and 76 ms if none did.)
//!
//! **What it costs:** a call that begins while all are busy keeps its one thread, also if the
//! others end soon.
//!
//! **Not while there are more threads than workers:** then one for each call would leave processors
//! alone.
//!
//! **Invariants.** The number is lowered in a divided call only, of which there is one at a time:
//! OpenBLAS may free the buffers of threads beyond the number (0.3.34 does not, its build with
//! OpenMP does), and no part may be in one. (Parts that find none get one of their own.) It is
//! never low for longer than all are busy: `LOWERED` is written after it, and who has written it
//! looks for a sleeper after a SeqCst fence, which pairs with the fence of who falls asleep. It may
//! be high while `LOWERED` is set, if who raised it was interrupted: the next divided call lowers
//! it again.
//!
//! **Rejected.** *By call:* `openblas_set_num_threads_local` sets the number of all. *Fewer threads
//! for a call that is divided already:* its parts wait for each other by looking at memory. *A
//! wrapper around each call,* that counts: nobody wraps the calls of other people's code.

use myriad_core::Handle;
use myriad_core::engine::guest;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*, fence};

/// `openblas_set_num_threads`, for [`share_threads`].
pub type SetThreads = unsafe extern "C" fn(c_int);

/// A [`SetThreads`], or null.
static SET: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
/// The larger of the two numbers; 0: the number is not ours.
static MOST: AtomicUsize = AtomicUsize::new(0);
/// The number is lowered, because of the pool with this number less one; or 0.
static LOWERED: AtomicUsize = AtomicUsize::new(0);
/// How many calls in a row were divided while all were busy ...
static IN_A_ROW: AtomicUsize = AtomicUsize::new(0);
/// ... of the pool with this number less one.
static ROW_OF: AtomicUsize = AtomicUsize::new(0);
/// How many threads are about to raise it, perhaps.
static RAISING: AtomicUsize = AtomicUsize::new(0);

/// After so many calls in a row for each thread the next ones are not divided: see
/// [`share_threads`].
pub const CALLS: usize = 2;

/// Sets the number of OpenBLAS's threads: to `threads`, and to 1 while all workers are busy that
/// could run parts of calls. [`OpenBlas::install`](super::OpenBlas::install) does that; this is for
/// programs that are linked with OpenBLAS and give it [`run_gang`](super::run_gang) themselves.
/// From 1 thread on nothing changes any more.
///
/// It is lowered when [`CALLS`]` * threads` calls in a row were divided while all workers of their
/// pool were busy, if these are not fewer than `threads`; and raised when one of them has nothing
/// to do. A call that runs keeps the number it began with.
///
/// # Panics
/// If `threads` is 0, or more than a C `int`.
///
/// # Safety
/// - `set` is `openblas_set_num_threads`, of a build with threads of its own (not of OpenMP) and
///   without affinity, which is the default; it stays loaded. It will be called from any thread, at
///   any time.
/// - No other thread is in OpenBLAS meanwhile.
///
/// # Examples
/// ```
/// use myriad_foreign::openblas::share_threads;
///
/// /// Stands for the function of the library that the program is linked with.
/// unsafe extern "C" fn openblas_set_num_threads(_: std::ffi::c_int) {}
///
/// // SAFETY: it may be called at any time; nobody is in OpenBLAS yet.
/// unsafe { share_threads(openblas_set_num_threads, 2) };
/// ```
pub unsafe fn share_threads(set: SetThreads, threads: usize) {
    // There is no other user of it, and the first call counts.
    _ = guest::when_idle(raise);
    // SAFETY: `set` sets the number of OpenBLAS's threads, and no other thread is in OpenBLAS (this
    // function's contract).
    unsafe { fix_threads(set, threads) };
    SET.store(set as *mut (), Relaxed);
    IN_A_ROW.store(0, Relaxed);
    // Release: `SET`, for the Acquire in `lower`.
    MOST.store(if threads > 1 { threads } else { 0 }, Release);
}

/// Sets the number for good.
///
/// # Panics
/// As [`share_threads`].
///
/// # Safety
/// `set` is `openblas_set_num_threads`, of any build, which stays loaded; it is called here only.
/// No other thread is in OpenBLAS meanwhile.
pub(super) unsafe fn fix_threads(set: SetThreads, threads: usize) {
    let n = c_int::try_from(threads).ok().filter(|n| *n > 0);
    let n = n.expect("OpenBLAS has at least 1 thread for a call, and no more than an `int`");
    // Before it is set, so that nobody raises it.
    leave_threads();
    // SAFETY: `set` sets the number of OpenBLAS's threads, and no other thread is in OpenBLAS (this
    // function's contract).
    unsafe { set(n) }
}

/// The number is no longer ours; it is as high as it was set.
pub(super) fn leave_threads() {
    // SeqCst: with the two in `raise`: nobody raises it from here on, or we see him.
    let was_lowered = LOWERED.swap(0, SeqCst) > 0;
    while RAISING.load(SeqCst) > 0 {
        std::thread::yield_now();
    }
    if was_lowered {
        set(MOST.load(Relaxed));
    }
    MOST.store(0, Relaxed);
}

fn set(threads: usize) {
    let function = SET.load(Relaxed);
    if !function.is_null() {
        // SAFETY: `share_threads` has put a function of this type there, whose caller says that it
        // may be called.
        unsafe { std::mem::transmute::<*mut (), SetThreads>(function)(threads as c_int) };
    }
}

/// A call of a task of this pool was divided, and no other one is: are all workers busy that could
/// run its parts? Then the next ones are not to be.
pub(super) fn lower(pool: Handle) {
    // Acquire: pairs with the Release in `share_threads`: `SET`.
    let most = MOST.load(Acquire);
    if most == 0 || pool.workers() < most {
        return;
    }
    // Relaxed, all: there is one divided call at a time; and a worker that has nothing to do may be
    // late.
    let number = 1 + guest::number(pool);
    if guest::has_idle(pool) || ROW_OF.swap(number, Relaxed) != number {
        IN_A_ROW.store(0, Relaxed);
    }
    if guest::has_idle(pool) {
        return;
    }
    if IN_A_ROW.fetch_add(1, Relaxed) + 1 < CALLS * most {
        return;
    }
    set(1);
    // Release: the number is low before it can be raised, for the Acquire in `raise`.
    LOWERED.store(number, Release);
    // Pairs with the heavy fence of a worker that falls asleep: either it reads `LOWERED`, or we
    // see that it sleeps.
    fence(SeqCst);
    if guest::has_idle(pool) {
        raise(number - 1);
    }
}

/// A worker of this pool has nothing to do.
fn raise(pool: usize) {
    if ROW_OF.load(Relaxed) == 1 + pool {
        IN_A_ROW.store(0, Relaxed);
    }
    if LOWERED.load(Relaxed) != 1 + pool {
        return;
    }
    RAISING.fetch_add(1, SeqCst);
    // SeqCst: see `leave_threads`, and it is an Acquire for `lower`.
    if LOWERED.compare_exchange(1 + pool, 0, SeqCst, Relaxed).is_ok() {
        set(MOST.load(Relaxed));
    }
    // Release: the number is set, for `leave_threads`.
    RAISING.fetch_sub(1, Release);
}
