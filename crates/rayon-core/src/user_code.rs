//! The door to user code.
//!
//! Jobs, handlers, functions that name or start threads, and the destructors of payloads, results
//! and handlers are the user's. They may panic, wait, run other jobs meanwhile, and call every
//! function of this crate. So they are called and dropped here; or in the frame of a caller whom
//! nobody borrows from, after the wait. Never under a lock, and never so that a panic leaves a
//! frame in which others hold pointers.
//!
//! | what | called from | its panic |
//! |---|---|---|
//! | a job that somebody waits for | `own/`, scopes, broadcasts: [`call`] | to who waits; else [discarded](discard) |
//! | a job that nobody waits for | `own/detached.rs`, `shared.rs`: [`call`] | goes to the panic handler: [`tell`] |
//! | a start or exit handler | `own/thread.rs`, `builder.rs`: [`call`] | the same |
//! | the panic handler | [`tell`] | ends the process |
//! | names, spawn handlers | `own/thread.rs`, `builder.rs`: by the builder's caller, under no lock | goes on there |
//! | destructors of payloads and results that nobody takes | [`discard`], [`let_go`] | ends there |
//! | destructors of handlers, wherever the last reference to a pool goes | [`LetGo`] | ends there |
//!
//! Tasks of Myriad are called, and dropped uncalled, by the engine's own door.

use crate::unwind::Payload;
use crate::unwind::say;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::*};

pub(crate) type PanicHandler = dyn Fn(Payload) + Send + Sync;

/// Calls it; a panic stops here.
#[inline(always)]
pub(crate) fn call<T>(f: impl FnOnce() -> T) -> Result<T, Payload> {
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
    if let Err(payload) = call(|| drop(value)) {
        discard(payload);
    }
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

/// Something of the user's that is dropped by whoever comes last, in whatever place.
pub(crate) struct LetGo<T>(ManuallyDrop<T>);

impl<T> LetGo<T> {
    pub(crate) fn new(value: T) -> LetGo<T> {
        LetGo(ManuallyDrop::new(value))
    }
}

impl<T> Deref for LetGo<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for LetGo<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, for `self` goes.
        let_go(unsafe { ManuallyDrop::take(&mut self.0) });
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
