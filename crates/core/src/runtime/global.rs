//! The global runtime: started at the first use, never shut down.

use super::hub::{Hub, is_in_hook_of_global};
use super::{Builder, Handle, Runtime, run_on};
use crate::task::dedicated;
use std::io;
use std::panic::Location;
use std::sync::{Mutex, OnceLock};

static GLOBAL: OnceLock<Runtime> = OnceLock::new();
/// Held while it is started.
static STARTING: Mutex<()> = Mutex::new(());

fn start(builder: Builder) -> io::Result<bool> {
    if is_in_hook_of_global() && GLOBAL.get().is_none() {
        let text = "it is just being started, and the caller is one of its hooks for threads, for which that waits";
        return Err(io::Error::new(io::ErrorKind::WouldBlock, text));
    }
    let _starting = STARTING.lock().unwrap_or_else(|e| e.into_inner());
    if GLOBAL.get().is_some() {
        return Ok(false);
    }
    let runtime = builder.for_global().build()?;
    Ok(GLOBAL.set(runtime).is_ok())
}

pub(super) fn install(builder: Builder) -> io::Result<()> {
    if start(builder)? {
        return Ok(());
    }
    let text = "the global runtime runs already; install it before the first spawn, or build a runtime of your own";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

/// Where a thread that is no worker spawns: into the global runtime, or, for a task with a thread of its own, where that was started.
///
/// # Panics
/// If the global runtime cannot be started.
pub(crate) fn home() -> Handle {
    dedicated::home().unwrap_or_else(|| Handle::of(own_hub()))
}

/// Does it run?
pub(crate) fn is_running() -> bool {
    GLOBAL.get().is_some()
}

/// The global runtime's hub.
///
/// # Panics
/// If it cannot be started.
pub(crate) fn own_hub() -> &'static Hub {
    if let Some(runtime) = GLOBAL.get() {
        return runtime.hub;
    }
    if let Err(error) = start(Builder::new()) {
        panic!("cannot start the global runtime: {error}");
    }
    GLOBAL.get().expect("started above").hub
}

/// Runs `f` as a task and returns its result: what `main` of a program of tasks calls.
///
/// On the global runtime, or, in a task, right there. `f` may borrow from the caller. Returns when `f` has ended, whatever
/// else it has spawned.
///
/// # Blocking
/// Until `f` has ended.
///
/// # Panics
/// If `f` panics, that panic goes on. If the global runtime cannot be started.
///
/// # Examples
/// ```
/// let total = myriad_core::run(|| {
///     let handles: Vec<_> = (0..10).map(|i| myriad_core::spawn(move || i)).collect();
///     handles.into_iter().map(|h| h.join().unwrap()).sum::<i32>()
/// });
/// assert_eq!(total, 45);
/// ```
#[track_caller]
pub fn run<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let place = Location::caller();
    match crate::sched::worker::current() {
        Some(_) => f(),
        None if dedicated::home().is_some() => f(),
        None => run_on(home(), place, f),
    }
}
