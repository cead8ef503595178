//! What is done with a panic that was caught: the panic goes on, or its payload is dropped.

use crate::sched::cancel;
use crate::sched::user_code;
use crate::sched::worker::{self, Role};
use std::panic::resume_unwind;

pub(crate) use myriad_base::unwind::{AbortOnUnwind, Payload, catch, knows_text, message, never_unwinds};

/// Lets a caught panic go on, without a second message.
#[cold]
pub fn resume(mut payload: Payload) -> ! {
    cancel::resume_cancellation(&mut payload);
    resume_unwind(payload)
}

/// Drops a payload that nobody wants. Its destructor is user code, and may panic in its turn; that
/// is where it ends.
#[cold]
pub fn discard(payload: Payload) {
    _ = discard_as(worker::current(), payload);
}

/// Drops a payload that nobody wants, as [`discard`] does, for a caller that has a role.
#[cold]
pub(crate) fn discard_as(w: Option<Role>, payload: Payload) -> Option<Role> {
    let (w, dropped) = user_code::call_as(w, || drop(payload));
    if let Err(second) = dropped {
        std::mem::forget(second);
    }
    w
}

/// Drops something of the user's, through the door. If its destructor panics, that is where the
/// panic ends (std's hook has told).
#[cold]
pub fn drop_quietly<T>(value: T) {
    if std::mem::needs_drop::<T>() {
        let mut value = Some(value);
        call_quietly(&mut || drop(value.take()));
    }
}

/// Calls a destructor of any type: compiled once.
fn call_quietly(drops: &mut dyn FnMut()) {
    _ = user_code::call(drops).map_err(discard);
}

/// A value of the user's that may be in hand when a panic comes by: then it is dropped quietly. (A
/// destructor that panics while a panic unwinds would end the process. This costs nothing where
/// none comes; to catch the panic costs some 35 instructions.)
#[derive(Debug)]
pub(crate) struct QuietlyDropped<T>(pub Option<T>);

impl<T> Drop for QuietlyDropped<T> {
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            drop_quietly(value);
        }
    }
}

/// Lets a caught panic go on for a caller who has a value of the user's in hand. The value is
/// dropped before: a destructor that panics while the panic unwinds would end the process.
#[cold]
#[inline(never)]
pub(crate) fn drop_and_resume<T>(value: T, payload: Payload) -> ! {
    drop_quietly(value);
    resume(payload)
}
