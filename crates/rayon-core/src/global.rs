//! The global pool: Myriad's global runtime; or own threads, if the program has asked for what only these can promise.

use crate::own::registry::Registry;
use crate::place::Pool;
use crate::unwind::PanicHandler;
use crate::{ThreadPoolBuildError, builder};
use myriad_core::{Builder, guest};
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

struct Global {
    /// `None`: Myriad's.
    own: Option<Arc<Registry>>,
    panic_handler: Option<Arc<PanicHandler>>,
}

static GLOBAL: OnceLock<Global> = OnceLock::new();
/// Held while it is made.
static MAKING: Mutex<()> = Mutex::new(());

/// The global pool; at the first use it comes about as the environment says.
///
/// # Panics
/// If Myriad's global runtime cannot be started.
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

#[cold]
fn by_default() -> &'static Global {
    let _making = MAKING.lock().unwrap_or_else(|e| e.into_inner());
    GLOBAL.get_or_init(|| {
        let asked = builder::threads_from_environment();
        if asked > 0 && !guest::is_global_running() {
            // Whatever is wrong with it `outside` says, or somebody was faster.
            _ = Builder::new().workers(asked).install();
        }
        Global { own: None, panic_handler: None }
    })
}

/// Makes it, by this function, which says which threads it has; `None`: Myriad's.
pub(crate) fn make(
    panic_handler: Option<Arc<PanicHandler>>,
    make: impl FnOnce() -> Result<Option<Arc<Registry>>, ThreadPoolBuildError>,
) -> Result<(), ThreadPoolBuildError> {
    let _making = MAKING.lock().unwrap_or_else(|e| e.into_inner());
    if GLOBAL.get().is_some() {
        return Err(ThreadPoolBuildError::is_global_already());
    }
    let own = make()?;
    _ = GLOBAL.set(Global { own, panic_handler });
    Ok(())
}

/// Starts Myriad's global runtime as this builder says. If it runs already that is right too, as long as it is what was asked for.
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
