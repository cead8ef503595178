//! OpenBLAS on gangs of threads.
//!
//! OpenBLAS 0.3.28 and later let the program run the parts of a call
//! (`openblas_set_threads_callback_function`). They are not independent: the kernels of level 3
//! wait for each other by looking at memory. So each call is a [gang](myriad_core::task::gang): as
//! many threads as parts, at the same time, one of them the caller's; one call in the process at a
//! time, as OpenBLAS has one set of buffers.
//!
//! ```no_run
//! use myriad_foreign::openblas::OpenBlas;
//! let blas = OpenBlas::load()?;
//! // SAFETY: no other thread is in OpenBLAS yet.
//! unsafe { blas.install(myriad_base::platform::platform().workers) };
//! // call cblas_dgemm and all else as always, in tasks or not; without a binding:
//! // SAFETY: OpenBLAS's header declares it so.
//! let threads = unsafe { blas.function::<extern "C" fn() -> i32>("openblas_get_num_threads")? };
//! assert!(blas.one_at_a_time(|| threads()) >= 1);
//! # Ok::<(), myriad_foreign::LoadError>(())
//! ```
//! **The caller keeps its thread** while a call runs: OpenBLAS holds a lock of the system in its
//! level-3 routines, and another task of the same thread would wait for it for ever. So a call is
//! to its worker what a long computation is. Several tasks that call at the same time take turns,
//! in OpenBLAS's lock or here, and hold up their workers meanwhile: [`OpenBlas::one_at_a_time`]
//! sets them aside instead.
//!
//! **As many callers as workers** are better off with one thread for each call: then they run at
//! the same time, and no gang is needed. So it is done in a stream of calls: while all workers are
//! busy, those that begin have one thread, and from when one has nothing to do, all.
//! [`OpenBlas::set_threads`] sets a number for good instead.
//!
//! **Stacks.** Its frames stand on the stacks of tasks. In fiber mode use 256 KiB or more
//! (`Builder::stack_size`).

mod share;

pub use share::{CALLS, SetThreads, share_threads};

use crate::jobs;
use crate::library::{Found, LoadError};
use myriad_base::sys::mutex::Mutex;
use myriad_core::cancel;
use myriad_core::engine::guest;
use myriad_core::task::{GangError, keep_thread, try_gang};
use myriad_sync::lock::Mutex as Turn;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fmt;

/// Part `thread_num` of a call. See [this module](self).
pub type DoJob = unsafe extern "C" fn(c_int, *mut c_void, c_int);

type Threads = unsafe extern "C" fn(c_int, Option<DoJob>, c_int, usize, *mut c_void, c_int);
type SetCallback = unsafe extern "C" fn(Option<Threads>);
type GetConfig = unsafe extern "C" fn() -> *const c_char;

/// The names that builds give to their functions: `(before, behind)`.
const NAMES: [(&str, &str); 4] = [("", ""), ("scipy_", "64_"), ("", "64_"), ("scipy_", "")];

/// Names the file of the library, for [`OpenBlas::load`].
const VARIABLE: &str = "MYRIAD_OPENBLAS";

/// OpenBLAS, as it was found. Example: [this module](self).
pub struct OpenBlas {
    found: Found,
    names: (&'static str, &'static str),
    set_callback: SetCallback,
    set_threads: SetThreads,
    config: String,
}

impl fmt::Debug for OpenBlas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenBlas").field("found", &self.found.name).field("config", &self.config).finish()
    }
}

impl OpenBlas {
    /// Finds OpenBLAS: in the process itself, if the program is linked with it; else the file that
    /// the variable `MYRIAD_OPENBLAS` names; else the system's `libopenblas`.
    ///
    /// # Errors
    /// It is not there, is older than 0.3.28, or was built for one thread. The text says what to
    /// install.
    pub fn load() -> Result<OpenBlas, LoadError> {
        if let Ok(blas) = OpenBlas::of(Found::this_process()) {
            return Ok(blas);
        }
        if let Some(file) = std::env::var_os(VARIABLE).filter(|file| !file.is_empty()) {
            // SAFETY: whoever sets the variable says that it is OpenBLAS.
            return unsafe { OpenBlas::load_from(&file) };
        }
        let names: &[&str] = if cfg!(target_os = "macos") {
            &["libopenblas.0.dylib", "libopenblas.dylib"]
        } else {
            &["libopenblas.so.0", "libopenblas.so"]
        };
        let found = Found::first(names)
            .map_err(|error| LoadError::new(format!("{} was not found. {}", names[0], what_to_do()), error))?;
        OpenBlas::of(found)
    }

    /// The library in this file, instead of the one that [`load`](Self::load) finds.
    ///
    /// # Errors
    /// It cannot be opened, or lacks what is needed.
    ///
    /// # Safety
    /// The file is OpenBLAS; code in it runs.
    pub unsafe fn load_from(file: impl AsRef<OsStr>) -> Result<OpenBlas, LoadError> {
        let file = file.as_ref();
        let found = Found::first(&[file]).map_err(|error| {
            LoadError::new(format!("{} cannot be opened as a library. {}", file.to_string_lossy(), what_to_do()), error)
        })?;
        OpenBlas::of(found)
    }

    fn of(found: Found) -> Result<OpenBlas, LoadError> {
        let mut config = None;
        for names in NAMES {
            let name = |middle: &str| format!("{}openblas_{middle}{}", names.0, names.1);
            // SAFETY: functions of OpenBLAS's interface, with their types; `get_config` may be
            // called at any time.
            unsafe {
                let get: Option<GetConfig> = found.symbol(&name("get_config"));
                // Of this very build: a process may have two, with other names, and what one says
                // of OpenMP is not true of the other.
                let own = get.map(|get| text(get()));
                let set_callback = found.symbol::<SetCallback>(&name("set_threads_callback_function"));
                let set_threads = found.symbol::<SetThreads>(&name("set_num_threads"));
                if let (Some(set_callback), Some(set_threads)) = (set_callback, set_threads) {
                    return Ok(OpenBlas { found, names, set_callback, set_threads, config: own.unwrap_or_default() });
                }
                config = config.or(own);
            }
        }
        let what = match config {
            Some(config) => format!("{} ({config})", found.name),
            None => format!("{}, which does not look like OpenBLAS,", found.name),
        };
        let text = format!("{what} has no openblas_set_threads_callback_function. {}", what_to_do());
        Err(LoadError::new(text, None))
    }

    /// What the library says of itself: its version and how it was built.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// From now on OpenBLAS's calls are gangs, of so many threads at most.
    ///
    /// While all workers of the pool whose tasks call are busy, and have been for
    /// [`CALLS`]` * threads` calls, a call that begins has one thread, and as many run at the same
    /// time as there are workers. The number is OpenBLAS's own: `openblas_get_num_threads` tells
    /// it, and who sets it by other means than [`set_threads`](Self::set_threads) is overruled.
    /// (Not if there are more `threads` than workers, nor for a build with OpenMP or affinity, as
    /// [`config`](Self::config) says.)
    ///
    /// More threads than processors are of no use. OpenBLAS has one such setting in the process.
    ///
    /// # Panics
    /// If `threads` is 0, or more than a C `int`.
    ///
    /// # Safety
    /// - No other thread is in a function of OpenBLAS meanwhile; best before the first.
    /// - In fiber mode, the tasks that call it have stacks large enough for its frames: see the
    ///   module's text.
    /// - Jobs of other gangs do not call OpenBLAS with more than one thread: that aborts the
    ///   process.
    pub unsafe fn install(&self, threads: usize) {
        // SAFETY: no other thread is in OpenBLAS (this function's contract), which is never
        // unloaded. The threads are shared only in a build that has neither OpenMP nor affinity.
        unsafe {
            (self.set_callback)(Some(run_gang));
            if self.config.contains("NO_AFFINITY") && !self.config.contains("USE_OPENMP") {
                share_threads(self.set_threads, threads);
            } else {
                self.set_threads(threads);
            }
        }
    }

    /// OpenBLAS has its own threads again, as many as were [installed](Self::install).
    ///
    /// # Safety
    /// No other thread is in a function of OpenBLAS meanwhile.
    pub unsafe fn uninstall(&self) {
        share::leave_threads();
        // SAFETY: no other thread is in OpenBLAS (this function's contract); null is OpenBLAS's
        // default.
        unsafe { (self.set_callback)(None) }
    }

    /// How many threads a call has, until the next [`install`](Self::install), also while all
    /// workers are busy. Calls with one thread never come to a gang.
    ///
    /// # Panics
    /// If `threads` is 0, or more than a C `int`.
    ///
    /// # Safety
    /// No other thread is in a function of OpenBLAS meanwhile.
    pub unsafe fn set_threads(&self, threads: usize) {
        // SAFETY: no other thread is in OpenBLAS (this function's contract), which is never
        // unloaded.
        unsafe { share::fix_threads(self.set_threads, threads) }
    }

    /// Calls `f`, which calls OpenBLAS, when no other `f` runs; tasks that wait for their turn are
    /// set aside.
    ///
    /// OpenBLAS runs one call with several threads at a time anyway, and who comes second waits in
    /// its lock with the whole worker. Here the worker goes on.
    ///
    /// # Blocking
    /// Until it is the caller's turn; then until `f` has ended, and there it keeps its thread.
    ///
    /// # Panics
    /// A panic of `f` goes on.
    pub fn one_at_a_time<T>(&self, f: impl FnOnce() -> T) -> T {
        static TURN: Turn<()> = Turn::new(());
        let _turn = TURN.lock().unwrap_or_else(|e| e.into_inner());
        keep_thread(f)
    }

    /// Another function of this library, by its plain name (`cblas_dgemm`): what its build puts
    /// before and behind names is added. (In builds with 64-bit integers, whose names end with
    /// `64_`, dimensions are `i64`: [`is_64_bit`](Self::is_64_bit).)
    ///
    /// # Errors
    /// There is none.
    ///
    /// # Safety
    /// `T` is a function pointer of the type that the function has.
    pub unsafe fn function<T: Copy>(&self, name: &str) -> Result<T, LoadError> {
        const { assert!(size_of::<T>() == size_of::<*const ()>(), "a function pointer") };
        let name = format!("{}{name}{}", self.names.0, self.names.1);
        // SAFETY: `T` is a function pointer of the right type (this function's contract).
        unsafe { self.found.symbol(&name) }
            .ok_or_else(|| LoadError::new(format!("{} has no {name}", self.found.name), None))
    }

    /// Are dimensions 64-bit numbers?
    pub fn is_64_bit(&self) -> bool {
        self.names.1 == "64_"
    }
}

fn what_to_do() -> String {
    format!(
        "OpenBLAS 0.3.28 or later is needed, built with threads (Debian 12 has 0.3.21); the one in the Python package `scipy-openblas64` \
         will do (`pip download scipy-openblas64`, unzip it). Name its file by the variable {VARIABLE}"
    )
}

/// # Safety
/// `string` is null, or a string of C that stays.
unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: `string` is not null, so it is a string of C that stays (this function's contract).
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

/// One call at a time: OpenBLAS's buffers are one for each thread *number*. A lock of the system,
/// as the caller keeps its thread.
static ONE_CALL: Mutex<()> = Mutex::new(());

/// For `openblas_set_threads_callback_function`: runs the parts of a call at the same time, each on
/// a thread of its own, and returns when all have ended. Example: [this module](self).
///
/// # Blocking
/// Until other calls, and gangs before it, have ended, and then all parts. The caller keeps its
/// thread.
///
/// # Cancellation
/// None in the call: all parts run, and the caller is cancelled at its next wait behind it.
///
/// # Panics
/// Never. If there are no threads for all parts, or the caller is a job of a gang, it aborts the
/// process with a message: OpenBLAS has no way to be told.
///
/// # Safety
/// `dojob(i, jobdata + i * elsize, dojob_data)` may be called once for each `i` below `numjobs`, on
/// any threads, at the same time: as OpenBLAS says.
pub unsafe extern "C" fn run_gang(
    _sync: c_int,
    dojob: Option<DoJob>,
    numjobs: c_int,
    elsize: usize,
    jobdata: *mut c_void,
    dojob_data: c_int,
) {
    let (Some(dojob), Ok(n)) = (dojob, usize::try_from(numjobs)) else { return };
    let jobs = GangJobs(jobdata);
    let job = |i: usize| {
        let jobs = &jobs;
        let data = jobs.0.cast::<u8>().wrapping_add(i * elsize).cast();
        // SAFETY: `dojob` may be called once for each `i` below `numjobs`, on any threads (this
        // function's contract); `i` is one of these, so it is an `int`.
        unsafe { dojob(i as c_int, data, dojob_data) };
    };
    if n <= 1 {
        (0..n).for_each(job);
        return;
    }
    jobs::no_unwind("a call of OpenBLAS cannot be run: the message above says why", || {
        // None in `keep_thread` (and so in `one_at_a_time`): who has asked for that wants the whole
        // call.
        let pool = guest::worker().map(|worker| worker.pool());
        // A cancellation would unwind through OpenBLAS: it waits until we are out of it. (In
        // `keep_thread` none comes to a task, but it would to a thread that waits in a region of
        // its own.)
        let call = || {
            cancel::shield(|| {
                // A part of a call that calls again would wait for the lock for ever: a gang of no
                // jobs says so first.
                try_gang(0, |_| ())?;
                let _one = ONE_CALL.lock();
                pool.inspect(|pool| share::lower(*pool));
                try_gang(n, job)
            })
        };
        match keep_thread(call) {
            Ok(()) => (),
            Err(GangError::Nested) => panic!(
                "a job of a gang has called OpenBLAS with {n} threads, and would wait for itself; call `set_threads(1)` before such gangs"
            ),
            Err(error) => panic!("OpenBLAS wants {n} threads: {error}"),
        }
    });
}

struct GangJobs(*mut c_void);
// SAFETY: an address; the jobs behind it may run on any thread.
unsafe impl Sync for GangJobs {}
