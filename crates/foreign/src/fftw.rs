//! FFTW's loops as tasks.
//!
//! FFTW 3.3.9 and later let the program run their parallel loops (`fftw_threads_set_callback`):
//! each is a number of independent jobs. Here they are tasks that the caller waits for: it is set
//! aside like in any join, and its worker goes on. A transform may be executed in any task, many at
//! a time, in tasks of tasks; there are never more threads than workers.
//!
//! ```no_run
//! use myriad_foreign::fftw::{Fftw, Precision};
//! let fftw = Fftw::load(Precision::Double)?;
//! // SAFETY: no other thread is in FFTW yet.
//! unsafe { fftw.install() };
//! // SAFETY: its threads are initialised, and nobody plans yet.
//! unsafe { fftw.plan_with_threads(8) };          // twice the workers; docs/FOREIGN-LIBRARIES.md says why
//! // plan and execute as always, in tasks or not; without a binding:
//! type Plan = *mut std::ffi::c_void;
//! // SAFETY: FFTW's header declares it so.
//! let execute = unsafe { fftw.function::<extern "C" fn(Plan)>("fftw_execute")? };
//! # Ok::<(), myriad_foreign::LoadError>(())
//! ```
//! **Programs that are linked with FFTW** (statically too) need no `load`:
//! `fftw_threads_set_callback(parallel_loop, NULL)`, with [`parallel_loop`] of this module, after
//! `fftw_init_threads()`.
//!
//! **Stacks.** FFTW's frames stand on the stacks of tasks, some kilobytes deep. In fiber mode 128
//! KiB or more (`Builder::stack_size`) leave room for what the program itself does.
//!
//! **The planner** is one for the process and not for several threads at a time: plan in one task,
//! or call [`Fftw::make_planner_thread_safe`], whose lock is one of the system and does no harm, as
//! planning does not wait for tasks — but for `FFTW_MEASURE`, which *executes* plans under it: then
//! plan outside of tasks, or in [`keep_thread`](myriad_core::task::keep_thread).

use crate::jobs;
use crate::library::{Found, LoadError};
use myriad_core::{Handle, cancel};
use myriad_par as par;
use std::ffi::{OsStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

/// What FFTW computes with: each is a library of its own. Example: [this module](self).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `double`: `libfftw3`, functions `fftw_…`.
    Double,
    /// `float`: `libfftw3f`, functions `fftwf_…`.
    Single,
    /// `long double`: `libfftw3l`, functions `fftwl_…`.
    Long,
    /// `__float128`: `libfftw3q`, functions `fftwq_…`.
    Quad,
}

impl Precision {
    /// All four.
    pub const ALL: [Precision; 4] = [Precision::Double, Precision::Single, Precision::Long, Precision::Quad];

    fn letter(self) -> &'static str {
        match self {
            Precision::Double => "",
            Precision::Single => "f",
            Precision::Long => "l",
            Precision::Quad => "q",
        }
    }
}

/// A job of FFTW's: `work(jobdata + i * elsize)`. See [this module](self).
pub type Work = unsafe extern "C" fn(*mut c_char) -> *mut c_void;

type Loop = unsafe extern "C" fn(Option<Work>, *mut c_char, usize, c_int, *mut c_void);
type SetCallback = unsafe extern "C" fn(Option<Loop>, *mut c_void);
type Init = unsafe extern "C" fn() -> c_int;
type PlanWith = unsafe extern "C" fn(c_int);
type Plain = unsafe extern "C" fn();

/// FFTW, of one precision, as it was found. Example: [this module](self).
pub struct Fftw {
    precision: Precision,
    found: Found,
    set_callback: SetCallback,
    init_threads: Init,
    plan_with_nthreads: PlanWith,
    make_planner_thread_safe: Option<Plain>,
}

impl fmt::Debug for Fftw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fftw").field("precision", &self.precision).field("found", &self.found.name).finish()
    }
}

impl Fftw {
    /// Finds FFTW's library of threads: in the process itself, if the program is linked with it,
    /// else by its name.
    ///
    /// # Errors
    /// It is not there, or is older than 3.3.9, or was built without threads. The text says what to
    /// install.
    pub fn load(precision: Precision) -> Result<Fftw, LoadError> {
        if let Ok(fftw) = Fftw::of(precision, Found::this_process()) {
            return Ok(fftw);
        }
        let l = precision.letter();
        let names = if cfg!(target_os = "macos") {
            [format!("libfftw3{l}_threads.3.dylib"), format!("libfftw3{l}_threads.dylib")]
        } else {
            [format!("libfftw3{l}_threads.so.3"), format!("libfftw3{l}_threads.so")]
        };
        let found = Found::first(&names).map_err(|error| {
            let text = format!(
                "FFTW's library {} was not found; install it (Debian: libfftw3-dev; macOS: brew install fftw), or name its file by \
                 `Fftw::load_from`",
                names[0]
            );
            LoadError::new(text, error)
        })?;
        Fftw::of(precision, found)
    }

    /// The library in this file, instead of the one that [`load`](Self::load) finds.
    ///
    /// # Errors
    /// It cannot be opened, or lacks what is needed.
    ///
    /// # Safety
    /// The file is FFTW's library of threads, of this precision; code in it runs.
    pub unsafe fn load_from(precision: Precision, file: impl AsRef<OsStr>) -> Result<Fftw, LoadError> {
        let file = file.as_ref();
        let found = Found::first(&[file]).map_err(|error| {
            LoadError::new(format!("{} cannot be opened as a library", file.to_string_lossy()), error)
        })?;
        Fftw::of(precision, found)
    }

    fn of(precision: Precision, found: Found) -> Result<Fftw, LoadError> {
        let l = precision.letter();
        let missing = |name: &str| {
            let text = format!(
                "{} has no fftw{l}_{name}: FFTW 3.3.9 or later is needed, and its library of threads (libfftw3{l}_threads, not \
                 libfftw3{l} alone)",
                found.name
            );
            LoadError::new(text, None)
        };
        // SAFETY: functions of FFTW's interface, with their types.
        unsafe {
            Ok(Fftw {
                precision,
                set_callback: found
                    .symbol(&format!("fftw{l}_threads_set_callback"))
                    .ok_or_else(|| missing("threads_set_callback"))?,
                init_threads: found.symbol(&format!("fftw{l}_init_threads")).ok_or_else(|| missing("init_threads"))?,
                plan_with_nthreads: found
                    .symbol(&format!("fftw{l}_plan_with_nthreads"))
                    .ok_or_else(|| missing("plan_with_nthreads"))?,
                make_planner_thread_safe: found.symbol(&format!("fftw{l}_make_planner_thread_safe")),
                found,
            })
        }
    }

    /// Which precision it is of.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// From now on FFTW's loops of this precision are tasks: of the task that executes a plan; of
    /// the global runtime if a thread does that is no worker.
    ///
    /// Says `fftw_init_threads` first, which may be said again. FFTW has one such setting for each
    /// precision in the process.
    ///
    /// # Panics
    /// If FFTW cannot initialise its threads (it has no memory).
    ///
    /// # Safety
    /// - No other thread is in a function of FFTW of this precision meanwhile.
    /// - In fiber mode, the tasks that execute plans have stacks large enough for FFTW's frames:
    ///   see the module's text.
    pub unsafe fn install(&self) {
        // SAFETY: no other thread is in FFTW, and stacks are large enough (this function's
        // contract); null is `parallel_loop`'s own `data`.
        unsafe { self.set(std::ptr::null_mut()) }
    }

    /// As [`install`](Self::install), but loops of threads that are no workers run in this runtime.
    /// When it has been shut down, such a loop aborts the process.
    ///
    /// # Panics
    /// As for [`install`](Self::install).
    ///
    /// # Safety
    /// - No other thread is in a function of FFTW of this precision meanwhile.
    /// - In fiber mode, the tasks that execute plans have stacks large enough for FFTW's frames:
    ///   see the module's text.
    pub unsafe fn install_in(&self, runtime: Handle) {
        // A loop may still look at an older one; there are as many as calls of this.
        let kept = Box::into_raw(Box::new(Kept { runtime, before: null_mut() }));
        // Release: who finds it finds what is in it. (Nobody looks but a detector of leaks.)
        _ = KEPT.fetch_update(Release, Relaxed, |before| {
            // SAFETY: nobody else knows it yet.
            unsafe { (*kept).before = before };
            Some(kept)
        });
        // SAFETY: no other thread is in FFTW, and stacks are large enough (this function's
        // contract); the handle stays for ever.
        unsafe { self.set((&raw mut (*kept).runtime).cast()) }
    }

    /// # Safety
    /// No other thread is in a function of FFTW of this precision meanwhile. In fiber mode, the
    /// tasks that execute plans have stacks large enough for FFTW's frames. `data` is null or a
    /// `Handle` that stays.
    unsafe fn set(&self, data: *mut c_void) {
        // SAFETY: no other thread is in FFTW, and `data` is null or a `Handle` that stays, as
        // `parallel_loop` demands (this function's contract).
        unsafe {
            assert!((self.init_threads)() != 0, "FFTW cannot initialise its threads: it has no memory");
            (self.set_callback)(Some(parallel_loop), data);
        }
    }

    /// FFTW has its own threads again, as before [`install`](Self::install).
    ///
    /// # Safety
    /// No other thread is in a function of FFTW of this precision meanwhile.
    pub unsafe fn uninstall(&self) {
        // SAFETY: no other thread is in FFTW (this function's contract); null is FFTW's default.
        unsafe { (self.set_callback)(None, std::ptr::null_mut()) }
    }

    /// Plans that are made from now on are cut into so many jobs at most. Some more than workers
    /// make the load even.
    ///
    /// # Panics
    /// If `n` is 0, or more than a C `int`.
    ///
    /// # Safety
    /// `fftw_init_threads` was called ([`install`](Self::install) does), and nobody plans
    /// meanwhile.
    pub unsafe fn plan_with_threads(&self, n: usize) {
        let n =
            c_int::try_from(n).ok().filter(|n| *n > 0).expect("a plan has at least 1 job, and no more than an `int`");
        // SAFETY: FFTW's threads are initialised, and nobody plans meanwhile (this function's
        // contract).
        unsafe { (self.plan_with_nthreads)(n) }
    }

    /// Plans may be made by several threads at a time from now on: FFTW locks.
    ///
    /// # Errors
    /// This library cannot do it (it came with 3.3.5).
    ///
    /// # Safety
    /// Nobody plans meanwhile.
    pub unsafe fn make_planner_thread_safe(&self) -> Result<(), LoadError> {
        let make = self.make_planner_thread_safe.ok_or_else(|| {
            let name = &self.found.name;
            LoadError::new(format!("{name} has no make_planner_thread_safe: FFTW 3.3.5 or later is needed"), None)
        })?;
        // SAFETY: nobody plans meanwhile (this function's contract).
        unsafe { make() };
        Ok(())
    }

    /// Another function of this library, or of the one that it is linked with (`fftw_plan_dft_2d`,
    /// `fftw_execute` …), by its full name.
    ///
    /// # Errors
    /// There is none.
    ///
    /// # Safety
    /// `T` is a function pointer of the type that the function has.
    pub unsafe fn function<T: Copy>(&self, name: &str) -> Result<T, LoadError> {
        const { assert!(size_of::<T>() == size_of::<*const ()>(), "a function pointer") };
        // SAFETY: `T` is a function pointer of the right type (this function's contract).
        unsafe { self.found.symbol(name) }
            .ok_or_else(|| LoadError::new(format!("{} has no {name}", self.found.name), None))
    }
}

/// A handle that a library was given, for good.
struct Kept {
    runtime: Handle,
    /// The one before it.
    before: *mut Kept,
}

/// The newest: what leaks is reachable. No lock, which a process that is forked might find locked.
static KEPT: AtomicPtr<Kept> = AtomicPtr::new(null_mut());

/// For `fftw_threads_set_callback`, of all precisions, with null for `data`: runs the jobs of a
/// loop as tasks, and returns when all have ended. Example: [this module](self).
///
/// # Blocking
/// Until all jobs have ended. The calling task is set aside if others have taken some; a thread
/// that is no worker sleeps.
///
/// # Cancellation
/// None in the loop: all jobs run, and the task that called FFTW is cancelled at its next wait
/// behind it.
///
/// # Panics
/// Never: a panic that came this far would have to unwind through FFTW, and aborts the process
/// instead.
///
/// # Safety
/// `work` may be called for each of `njobs` elements of `elsize` bytes at `jobdata`, in any order,
/// on any threads, at the same time: as FFTW says. `data` is null, or points to a [`Handle`] that
/// lives until this returns (as that of [`Fftw::install_in`]).
pub unsafe extern "C" fn parallel_loop(
    work: Option<Work>,
    jobdata: *mut c_char,
    elsize: usize,
    njobs: c_int,
    data: *mut c_void,
) {
    let (Some(work), Ok(njobs)) = (work, usize::try_from(njobs)) else { return };
    let jobs = FftwJobs(jobdata);
    let job = |i| {
        let jobs = &jobs;
        // SAFETY: `work` may be called for each of the `njobs` elements, on any thread, at the same
        // time (this function's contract), and `i` is below `njobs`.
        unsafe { work(jobs.0.wrapping_add(i * elsize)) };
    };
    if njobs <= 1 {
        (0..njobs).for_each(job);
        return;
    }
    jobs::no_unwind("a loop of FFTW cannot be run: the message above says why", || {
        // A cancellation would unwind through FFTW: it waits until we are out of it.
        let run = || cancel::shield(|| par::Loop::new(0..njobs).grain(1).run(job));
        if data.is_null() || Handle::current().is_some() {
            myriad_core::run(run);
        } else {
            // SAFETY: `data` is not null, so it points to a handle that lives until this function
            // returns (its contract).
            unsafe { &*data.cast::<Handle>() }.run(run);
        }
    });
}

struct FftwJobs(*mut c_char);
// SAFETY: an address; the jobs behind it may run on any thread.
unsafe impl Sync for FftwJobs {}
