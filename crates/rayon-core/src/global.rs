//! The global pool: Myriad's global runtime; or own threads, if the program has asked for what only
//! these can promise.

use crate::own::registry::Registry;
use crate::pool::Pool;
use crate::user_code::PanicHandler;
use crate::{ThreadPoolBuildError, builder, fork};
use myriad_base::sys::mutex::{Condvar, Mutex, MutexGuard};
use myriad_core::Builder;
use myriad_core::engine::guest;
use std::cell::Cell;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;

struct Global {
    /// `None`: Myriad's.
    own: Option<Arc<Registry>>,
    panic_handler: Option<Arc<PanicHandler>>,
}

static GLOBAL: OnceLock<Global> = OnceLock::new();
/// Who makes it now. That one calls functions of the user's, so it does not hold the lock
/// meanwhile.
static MAKER: Mutex<Option<ThreadId>> = Mutex::new(None);
static MADE: Condvar = Condvar::new();

thread_local! {
    /// Does the thread call a handler of the global pool, before it is one of its workers?
    static IN_HANDLER: Cell<bool> = const { Cell::new(false) };
}

/// The global pool; at the first use it comes about as the environment says.
///
/// # Panics
/// If Myriad's global runtime cannot be started. If the caller is a function that `build_global`
/// was given, while it builds.
pub(crate) fn pool() -> Pool {
    let global = match GLOBAL.get() {
        Some(global) => global,
        None => by_default(),
    };
    global.own.clone().map_or_else(|| Pool::Shared(guest::outside()), Pool::Own)
}

/// Who is told of panics that nobody waits for, on Myriad's workers.
pub(crate) fn panic_handler() -> Option<&'static PanicHandler> {
    GLOBAL.get()?.panic_handler.as_deref()
}

/// Calls a handler of the global pool's, which may come before the pool is made.
pub(crate) fn while_starting<T>(handler: impl FnOnce() -> T) -> T {
    IN_HANDLER.set(true);
    let result = handler();
    IN_HANDLER.set(false);
    result
}

#[cold]
fn by_default() -> &'static Global {
    let Some(making) = Making::begin() else { asked_too_early() };
    if GLOBAL.get().is_none() {
        let asked = builder::threads_from_environment();
        if (asked > 0 || are_fibers_asked_for()) && !guest::is_global_running() {
            let builder = if asked > 0 { starter().workers(asked) } else { starter() };
            // Whatever is wrong with it `outside` says, or somebody was faster.
            _ = builder.install();
        }
        making.set(Global { own: None, panic_handler: None });
    }
    GLOBAL.get().expect("made above")
}

/// Who makes the pool, locked.
pub(crate) type Lock = MutexGuard<'static, Option<ThreadId>>;

/// For `fork`: nobody else begins or ends to make it meanwhile.
pub(crate) fn lock() -> Lock {
    MAKER.lock()
}

#[cold]
fn asked_too_early() -> ! {
    panic!(
        "rayon (on Myriad): the global pool was asked for by a function that `ThreadPoolBuilder::build_global` was given, which has \
         not yet built it: a `thread_name`, `spawn_handler` or `start_handler` cannot use it"
    )
}

/// The calling thread makes the pool, alone.
struct Making;

impl Making {
    /// `None`: the caller is a part of that already. Waits while another thread makes it.
    fn begin() -> Option<Making> {
        fork::watch();
        let me = std::thread::current().id();
        let mut maker = lock();
        loop {
            match *maker {
                None => break,
                Some(thread) if thread == me || IN_HANDLER.get() => return None,
                Some(_) => maker = MADE.wait(maker),
            }
        }
        *maker = Some(me);
        Some(Making)
    }

    /// It is made. (Under the lock, for `fork`: a `OnceLock` that is just being filled is never
    /// filled in the child.)
    fn set(&self, global: Global) {
        let maker = lock();
        let set = GLOBAL.set(global);
        drop(maker);
        debug_assert!(set.is_ok(), "made by two");
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        *lock() = None;
        MADE.notify_all();
    }
}

/// Makes it, by this function, which says which threads it has; `None`: Myriad's.
pub(crate) fn make(
    panic_handler: Option<Arc<PanicHandler>>,
    make: impl FnOnce() -> Result<Option<Arc<Registry>>, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    let Some(making) = Making::begin() else { return Err(ThreadPoolBuildError::is_global_already()) };
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::is_global_already());
    }
    let own = make()?;
    making.set(Global { own, panic_handler });
    Ok(())
}

/// Is the global runtime to be in fiber mode?
///
/// A program says by `unsafe { Builder::fibers() }.install()` that it keeps fiber mode's contract;
/// nothing outside of its source can say that. `--cfg rayon_on_fibers` is for our own tests: such
/// a build reads the variable `RAYON_ON_FIBERS`, so that one build is tested in both modes.
fn are_fibers_asked_for() -> bool {
    cfg!(rayon_on_fibers) && std::env::var_os("RAYON_ON_FIBERS").is_some()
}

/// For the global runtime.
pub(crate) fn starter() -> Builder {
    if are_fibers_asked_for() {
        // SAFETY: no code of the program waits inside a thread-local scope, an initialiser of a
        // thread-local or a destructor that a panic runs (`Builder::fibers`): who builds with this
        // cfg and sets the variable has looked at the tests for that.
        return unsafe { Builder::fibers() };
    }
    Builder::new()
}

/// Starts Myriad's global runtime as this builder says. If it runs already that is right too, as
/// long as it is what was asked for.
pub(crate) fn install(builder: Builder, workers: usize, is_special: bool) -> io::Result<()> {
    match builder.install() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        done => return done,
    }
    let there = guest::outside().workers();
    if !is_special && (workers == 0 || workers == there) {
        return Ok(());
    }
    let wanted = if is_special { "names, stacks or handlers" } else { "another number of threads" };
    Err(io::Error::new(
        io::ErrorKind::AlreadyExists,
        format!(
            "Myriad's global runtime, which is rayon's global pool, runs already, with {there} workers, and {wanted} cannot be \
             given to it any more: call `build_global` before anything is spawned, or ask for it with `myriad::Builder` alone"
        ),
    ))
}

#[cfg(all(test, rayon_on_fibers))]
mod tests {
    /// A variable that is not read would test the other mode twice.
    #[test]
    fn the_global_pool_has_the_mode_that_was_asked_for() {
        crate::join(|| (), || ());
        let mode = if super::are_fibers_asked_for() { "fibers" } else { "threads" };
        let pool = format!("{:?}", super::guest::outside());
        assert!(pool.contains(&format!("mode: {mode}")), "{pool}, not {mode}");
    }
}
