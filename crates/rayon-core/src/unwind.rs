//! What becomes of a panic that nobody waits for.

pub(crate) use myriad_core::unwind::{Payload, catch, resume};

pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

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
