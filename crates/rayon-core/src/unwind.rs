//! The one place that catches and resumes panics, and says what becomes of one that nobody waits for.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

pub(crate) type Payload = Box<dyn Any + Send>;
pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// Runs `f`; a panic stops here. (The payload goes to whoever waits, so nobody goes on with what the panic has left half done.)
#[inline(always)]
pub(crate) fn catch<T>(f: impl FnOnce() -> T) -> Result<T, Payload> {
    catch_unwind(AssertUnwindSafe(f))
}

/// Lets a caught panic go on, without a second message.
#[cold]
pub(crate) fn resume(payload: Payload) -> ! {
    resume_unwind(payload)
}

/// A job that nobody waits for has panicked: the handler is told; without one the process ends, and also if the handler panics.
#[cold]
pub(crate) fn detached(handler: Option<&PanicHandler>, payload: Payload) {
    let Some(handler) = handler else {
        eprintln!(
            "rayon (on Myriad): a spawned job has panicked, and nobody waits for it; aborting. \
             `ThreadPoolBuilder::panic_handler` says what is to be done instead"
        );
        std::process::abort();
    };
    let bomb = AbortOnUnwind("the panic handler has panicked");
    handler(payload);
    std::mem::forget(bomb);
}

/// While it stands, nothing may unwind: others hold pointers into the frames.
pub(crate) struct AbortOnUnwind(pub(crate) &'static str);

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        eprintln!("rayon (on Myriad): {}; aborting", self.0);
        std::process::abort();
    }
}
