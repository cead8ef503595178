//! User code: the bodies of jobs, and what goes through the engine's door.
//!
//! Jobs, handlers, functions that name or start threads, and the destructors of payloads, results
//! and handlers are the user's. They may panic, wait, run other jobs meanwhile, and call every
//! function of this crate. So they are called and dropped here; or in the frame of a caller whom
//! nobody borrows from, after the wait. Never under a lock, and never so that a panic leaves a
//! frame in which others hold pointers.
//!
//! | what | called from | its panic |
//! |---|---|---|
//! | a job that somebody waits for | `own/`, scopes, broadcasts: [`body`] | to who waits; else [discarded](discard) |
//! | a job that nobody waits for | `own/detached.rs`, `shared.rs`: [`body`] | goes to the panic handler: [`tell`] |
//! | a start or exit handler | `own/registry.rs`, `builder.rs`: [`call`] | the same |
//! | the panic handler | [`tell`] | ends the process |
//! | names, spawn handlers | `own/thread.rs`, `builder.rs`: by the builder's caller, under no lock | goes on there |
//! | destructors of payloads and results that nobody takes | [`discard`], [`let_go`] | ends there |
//! | destructors of handlers, where the last reference to a pool goes | `own/registry.rs`: [`let_go`] | ends there |
//!
//! **The door and bodies.** [`call`], [`discard`] and [`let_go`] are the engine's door: the code is
//! not cancelled by what its caller is in, and where no task runs it gets one of its own. A
//! *body* is no such code. It is what a task of Myriad, or a thread of a pool, is there for, as a
//! task's closure is in the engine: a cancellation of the task is meant for it, who runs is the
//! task or the thread already, and a `join` has two of them.
//!
//! Tasks of Myriad are called, and dropped uncalled, by the engine.

use crate::unwind::Payload;
use crate::unwind::say;
use myriad_core::engine::user_code::UserValue;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

pub(crate) use myriad_core::engine::user_code::call;

pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// Runs the body of a job; its panic stops here.
#[inline(always)]
pub(crate) fn body<T>(f: impl FnOnce() -> T) -> Result<T, Payload> {
    myriad_base::unwind::catch(f)
}

/// Drops a payload that nobody is told of. If its destructor panics, that ends here.
#[cold]
pub(crate) fn discard(payload: Payload) {
    myriad_core::engine::unwind::discard(payload);
}

/// Drops a value of the user's that nobody takes, in the same way.
#[cold]
pub(crate) fn let_go<T>(value: T) {
    _ = UserValue::new(value).drop_value().map_err(discard);
}

/// What [`call`] has returned, that nobody takes.
#[cold]
pub(crate) fn let_go_result<T>(result: Result<T, Payload>) {
    match result {
        Ok(value) => let_go(value),
        Err(payload) => discard(payload),
    }
}

/// A job that nobody waits for, or a handler, has panicked: the panic handler is told; without one
/// the process ends, and also if the handler panics.
#[cold]
pub(crate) fn tell(handler: Option<&PanicHandler>, payload: Payload) {
    let Some(handler) = handler else {
        say!(
            "rayon (on Myriad): a spawned job has panicked, and nobody waits for it; aborting. \
             `ThreadPoolBuilder::panic_handler` says what is to be done instead"
        );
        std::process::abort();
    };
    if let Err(second) = call(|| handler(payload)) {
        say!("rayon (on Myriad): the panic handler has panicked; aborting");
        std::mem::forget(second);
        std::process::abort();
    }
}

/// The first panic of many jobs. It is kept without a lock: a payload that comes too late is
/// dropped, and its destructor may do what it likes, also panic in another job of the same scope.
#[derive(Default)]
pub(crate) struct FirstPanic(AtomicPtr<Payload>);

impl FirstPanic {
    /// Keeps it, if it is the first.
    #[cold]
    pub(crate) fn keep(&self, payload: Payload) {
        let payload = Box::into_raw(Box::new(payload));
        // Release: the payload. Pairs with the Acquire in `take`.
        if self.0.compare_exchange(null_mut(), payload, Release, Relaxed).is_err() {
            // SAFETY: made above; nobody else has seen it.
            discard(*unsafe { Box::from_raw(payload) });
        }
    }

    pub(crate) fn take(&self) -> Option<Payload> {
        // Acquire: pairs with the Release in `keep`.
        let payload = self.0.swap(null_mut(), Acquire);
        // SAFETY: made by `keep`, and taken out by this swap alone.
        (!payload.is_null()).then(|| *unsafe { Box::from_raw(payload) })
    }
}

impl Drop for FirstPanic {
    fn drop(&mut self) {
        if let Some(payload) = self.take() {
            discard(payload);
        }
    }
}
