//! The one runtime of a C program.

use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::fork;
use myriad_base::platform;
use myriad_base::sys::mutex::{Condvar, Mutex, MutexGuard};
use myriad_core::{Builder, Handle, Report, Runtime, State, Unfinished};
use std::ffi::{CStr, c_char};
use std::io::ErrorKind;
use std::ptr::null as null_pointer;
use std::time::Duration;

/// How a task waits.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum myriad_mode {
    /// A task that waits keeps its thread of the system, and another thread goes on as the worker:
    /// right for any code.
    MYRIAD_THREADS = 0,
    /// A task that waits is set aside with its stack, and its thread runs the next one: a thousand
    /// times cheaper. For code that never waits (in functions of Myriad) while it holds a lock of
    /// the system, inside a catch block or a destructor of C++ that runs because of an exception,
    /// or while it has a thread-local variable changed that it will change back.
    MYRIAD_FIBERS = 1,
}

/// The settings of a runtime. Get them from myriad_settings_default, then change what you like.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct myriad_settings {
    /// The size of this struct, for later versions that have more.
    pub size: usize,
    /// Threads that run tasks. By default as many as the process may use processors. At least 1.
    pub workers: usize,
    /// A myriad_mode. By default MYRIAD_THREADS.
    pub mode: i32,
    /// Bytes of a task's stack, rounded up to a power of two; only what is touched becomes memory.
    /// 0: 256 KiB with fibers, 2 MiB with threads. A task has at least half of a fiber (a quarter
    /// of a thread's stack), as it may run on top of one that waits for it. The C compiler must not
    /// let a function jump over the guard page: -fstack-clash-protection.
    pub stack_size: usize,
    /// How threads are called: NAME-0, NAME-1 ... NULL: myriad.
    pub name: *const c_char,
}

/// Stacks of fibers that run C: its frames are larger than Rust's, and printf alone takes some
/// kilobytes.
const C_STACK: usize = 256 << 10;

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);
/// Does somebody start it? No lock is held while a runtime is built, which takes locks of the
/// engine, and lasts.
static STARTING: Mutex<bool> = Mutex::new(false);
static STARTED: Condvar = Condvar::new();

/// Whether somebody starts it, locked.
pub(crate) type StartingLock = MutexGuard<'static, bool>;

/// For `fork`: nobody else begins or ends a start meanwhile.
pub(crate) fn lock_starting() -> StartingLock {
    STARTING.lock()
}

/// The calling thread starts it, alone.
struct Starting;

impl Starting {
    fn begin() -> Starting {
        fork::watch();
        let mut starting = lock_starting();
        while *starting {
            starting = STARTED.wait(starting);
        }
        *starting = true;
        Starting
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        *lock_starting() = false;
        STARTED.notify_all();
    }
}

/// The runtime's slot, locked.
pub(crate) type Lock = MutexGuard<'static, Option<Runtime>>;

/// For `fork`: nobody else looks at the runtime's slot meanwhile.
pub(crate) fn lock() -> Lock {
    RUNTIME.lock()
}

fn locked() -> Lock {
    fork::watch();
    lock()
}

/// Where to spawn and run: the calling task's runtime, or the one that was started.
pub(crate) fn handle() -> Result<Handle, Failure> {
    if let Some(handle) = Handle::current() {
        return Ok(handle);
    }
    let started = locked().as_ref().map(Runtime::handle);
    started.ok_or_else(|| MYRIAD_ERROR_NOT_STARTED.into())
}

/// The default settings.
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_settings_default() -> myriad_settings {
    myriad_settings {
        size: size_of::<myriad_settings>(),
        workers: platform::platform().workers,
        mode: myriad_mode::MYRIAD_THREADS as i32,
        stack_size: 0,
        name: null_pointer(),
    }
}

/// Starts the runtime of this process. NULL: with the default settings.
///
/// Blocks for some 100 microseconds. May be called again after myriad_stop.
///
/// Errors: MYRIAD_ERROR_STARTED; MYRIAD_ERROR_INVALID (no workers, too many, a stack too small or
/// too large, an unknown mode, a name that is no UTF-8, settings of another version);
/// MYRIAD_ERROR_SYSTEM (no threads, no memory, no fibers on this platform).
///
/// # Safety
/// `settings` is NULL or points to settings, whose name is NULL or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_start(settings: *const myriad_settings) -> myriad_status {
    guarded(|| {
        // SAFETY: `settings` is NULL or points to settings, by the contract, which are copied.
        let settings = unsafe { settings.as_ref() }.copied().unwrap_or_else(|| myriad_settings_default());
        // SAFETY: the name in the settings is NULL or a string, by the contract.
        let builder = unsafe { builder(&settings)? };
        let _starting = Starting::begin();
        if locked().is_some() {
            let text = "the runtime runs already: call myriad_stop before another myriad_start";
            return Err(Failure::new(MYRIAD_ERROR_STARTED, text));
        }
        let runtime = builder.build().map_err(|error| {
            let invalid = error.kind() == ErrorKind::InvalidInput;
            Failure::new(if invalid { MYRIAD_ERROR_INVALID } else { MYRIAD_ERROR_SYSTEM }, error.to_string())
        })?;
        *locked() = Some(runtime);
        Ok(())
    })
}

/// # Safety
/// The name is NULL or a string.
unsafe fn builder(settings: &myriad_settings) -> Result<Builder, Failure> {
    let invalid = |text: String| Err(Failure::new(MYRIAD_ERROR_INVALID, text));
    if settings.size != size_of::<myriad_settings>() {
        return invalid(format!(
            "the settings' size is {}, not {}: get them from myriad_settings_default, of the same version as the library",
            settings.size,
            size_of::<myriad_settings>()
        ));
    }
    let fibers = match settings.mode {
        mode if mode == myriad_mode::MYRIAD_THREADS as i32 => false,
        mode if mode == myriad_mode::MYRIAD_FIBERS as i32 => true,
        mode => return invalid(format!("there is no mode {mode}: MYRIAD_THREADS (0) or MYRIAD_FIBERS (1)")),
    };
    // SAFETY: the program has asked for it; the contract stands at the mode.
    let mut builder = if fibers { unsafe { Builder::fibers() }.stack_size(C_STACK) } else { Builder::new() };
    if settings.stack_size != 0 {
        builder = builder.stack_size(settings.stack_size);
    }
    if !settings.name.is_null() {
        // SAFETY: not NULL, so the name is a string, by the contract; it is copied below.
        let name = unsafe { CStr::from_ptr(settings.name) }.to_str();
        let Ok(name) = name else { return invalid("the name of the runtime is no UTF-8".into()) };
        builder = builder.name(name);
    }
    Ok(builder.workers(settings.workers))
}

/// Ends the runtime: waits until all tasks have ended, at most for so many nanoseconds (UINT64_MAX:
/// for ever), and stops its threads.
///
/// Tasks that have not begun then are dropped, and their joiners get MYRIAD_ERROR_SHUTDOWN. Tasks
/// that still wait or run cannot be ended from outside: they stay as they are, until the process
/// ends.
///
/// Blocks until then, and a moment more if tasks are running.
///
/// Errors: MYRIAD_ERROR_UNFINISHED: tasks have not ended, or were dropped; the runtime is stopped
/// all the same, and myriad_last_error has a line for each. MYRIAD_ERROR_NOT_STARTED (also when it
/// has been stopped); MYRIAD_ERROR_IN_TASK.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_stop(timeout_ns: u64) -> myriad_status {
    guarded(|| {
        if Handle::current().is_some() {
            let text = "a task cannot stop its runtime: it would wait for itself; call myriad_stop where you called myriad_start";
            return Err(Failure::new(MYRIAD_ERROR_IN_TASK, text));
        }
        let Some(runtime) = locked().take() else {
            let text = "there is no runtime to stop: it was not started, or has been stopped";
            return Err(Failure::new(MYRIAD_ERROR_NOT_STARTED, text));
        };
        let report = runtime.shutdown(patience(timeout_ns));
        if report.is_clean() { Ok(()) } else { Err(Failure::new(MYRIAD_ERROR_UNFINISHED, text(&report))) }
    })
}

/// A time that the clock can hold.
pub(crate) fn patience(nanoseconds: u64) -> Duration {
    // (A century is for ever.)
    Duration::from_nanos(nanoseconds.min(100 * 365 * 86_400 * 1_000_000_000))
}

/// A line for each task, of twenty.
fn text(report: &Report) -> String {
    let all = report.unfinished().len() + report.dropped().len();
    let mut text =
        format!("{} tasks have not ended, {} were dropped", report.unfinished().len(), report.dropped().len());
    for task in report.unfinished().iter().chain(report.dropped()).take(20) {
        text += "\n  ";
        text += &describe(task);
    }
    if all > 20 {
        text += &format!("\n  and {} more", all - 20);
    }
    text
}

fn describe(task: &Unfinished) -> String {
    let state = match task.state() {
        State::Blocked => "waits",
        State::Running => "still runs",
        State::Unstarted => "not begun, dropped",
        State::Waiting => "a waiting future, dropped",
        _ => "not ended",
    };
    match task.name() {
        Some(name) => format!("task '{name}': {state}"),
        None => format!("a task without a name (myriad_spawn_named gives one): {state}"),
    }
}

/// How many workers the runtime has, that of the calling task or the one that was started; 0 if
/// there is none.
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_workers() -> usize {
    let mut workers = 0;
    guarded(|| {
        workers = handle()?.workers();
        Ok(())
    });
    workers
}

/// Is the caller a task?
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_in_task() -> bool {
    Handle::current().is_some()
}

/// The version of the library: "0.1.0".
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => panic!("a version without zero bytes"),
    };
    VERSION.as_ptr()
}

/// A string of C.
///
/// # Safety
/// `string` is NULL or a string.
pub(crate) unsafe fn string<'a>(string: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if string.is_null() {
        return Err(null(what));
    }
    // SAFETY: not NULL (looked at above), so it is a string, by the contract.
    let text = unsafe { CStr::from_ptr(string) }.to_str();
    text.map_err(|_| Failure::new(MYRIAD_ERROR_INVALID, format!("{what} is no UTF-8")))
}
