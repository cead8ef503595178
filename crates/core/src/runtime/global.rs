//! The global runtime: started at the first use, never shut down.

use super::{Builder, Runtime};
use crate::sched::borrower;
use crate::sched::pool::hooks::is_in_hook_of_global;
use crate::sched::pool::{Handle, Pool};
use myriad_base::sys::fork::{self, GiveBack, Rank};
use myriad_base::sys::mutex::{Condvar, Mutex};
use std::io;
use std::sync::OnceLock;

static GLOBAL: OnceLock<Runtime> = OnceLock::new();
/// The era of the process in which somebody starts it; 0: nobody does. No lock is held meanwhile,
/// for a start calls hooks of the user's: a process that is forked in the middle has a start of its
/// parent's here, which nobody of its own era makes.
static STARTING: Mutex<u32> = Mutex::new(0);
static STARTED: Condvar = Condvar::new();

/// For `fork`: no other thread begins or ends a start meanwhile.
fn take() -> GiveBack {
    let held = STARTING.lock();
    Box::new(move |_| drop(held))
}

/// The calling thread starts it, alone in this process; which is of this era.
struct Starting(u32);

impl Starting {
    /// Waits while somebody else starts it. `None`: it runs.
    fn begin() -> Option<Starting> {
        fork::hold(Rank::Starting, take);
        let mut starting = STARTING.lock();
        loop {
            let era = fork::era();
            if GLOBAL.get().is_some() {
                return None;
            }
            if *starting != era {
                *starting = era;
                return Some(Starting(era));
            }
            starting = STARTED.wait(starting);
        }
    }

    /// It runs now.
    fn end(self, runtime: Runtime) -> bool {
        // (Under the lock, for `fork`: a place that is just being filled is never filled in the
        // child. What is not taken is dropped behind.)
        let set = {
            let _starting = STARTING.lock();
            GLOBAL.set(runtime)
        };
        set.is_ok()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let mut starting = STARTING.lock();
        if *starting == self.0 {
            *starting = 0;
        }
        drop(starting);
        STARTED.notify_all();
    }
}

fn start(builder: Builder) -> io::Result<bool> {
    if is_in_hook_of_global() && GLOBAL.get().is_none() {
        let text = "it is just being started, and the caller is one of its hooks for threads, for which that waits";
        return Err(io::Error::new(io::ErrorKind::WouldBlock, text));
    }
    let Some(starting) = Starting::begin() else { return Ok(false) };
    let runtime = builder.for_global().build()?;
    Ok(starting.end(runtime))
}

pub(super) fn install(builder: Builder) -> io::Result<()> {
    if start(builder)? {
        return Ok(());
    }
    let text = "the global runtime runs already; install it before the first spawn, or build a runtime of your own";
    Err(io::Error::new(io::ErrorKind::AlreadyExists, text))
}

/// Where a thread that is no worker spawns: into the global runtime, or, for a task with a thread
/// of its own, where that was started.
///
/// # Panics
/// If the global runtime cannot be started.
pub(crate) fn home() -> Handle {
    borrower::home().unwrap_or_else(|| Handle::of(own_pool()))
}

/// Does it run?
pub(crate) fn is_running() -> bool {
    GLOBAL.get().is_some()
}

/// The global runtime's pool.
///
/// # Panics
/// If it cannot be started.
pub(crate) fn own_pool() -> &'static Pool {
    if let Some(runtime) = GLOBAL.get() {
        return runtime.pool;
    }
    if let Err(error) = start(Builder::new()) {
        panic!("cannot start the global runtime: {error}");
    }
    GLOBAL.get().expect("started above").pool
}
