//! Parallel loops.

use crate::Pointer;
use crate::error::{guarded, myriad_status, null};
use crate::runtime::handle;
use myriad_par::Loop;
use std::ffi::c_void;

/// A part of a loop: the numbers from `begin` on, before `end`.
pub type myriad_body = Option<unsafe extern "C-unwind" fn(begin: usize, end: usize, argument: *mut c_void)>;

/// Calls `body` for parts that together are the numbers from `begin` on, before `end`; in parallel,
/// on the workers.
///
/// A part has at most `grain` numbers; 0: as many as take about a microsecond, found by measuring.
/// Parts are the caller's or are taken by workers that have nothing to do, so a loop in a loop, or
/// in many tasks at a time, has no more threads than workers. Parts may wait for each other only if
/// they would also end one after the other.
///
/// Blocks until all parts have ended: a calling task is set aside if others have taken some.
///
/// Errors: MYRIAD_ERROR_NULL (the body), MYRIAD_ERROR_NOT_STARTED: the body was not called then.
/// MYRIAD_ERROR_CANCELLED: the calling task was cancelled, and some parts were left out; none runs
/// any more. If `end` is not larger than `begin` nothing is to be done.
///
/// # Safety
/// The body may be called with this argument on other threads, several times at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_parallel_for(
    begin: usize,
    end: usize,
    grain: usize,
    body: myriad_body,
    argument: *mut c_void,
) -> myriad_status {
    guarded(|| {
        let body = body.ok_or_else(|| null("the body"))?;
        let handle = handle()?;
        let argument = Pointer(argument);
        let mut parts = Loop::new(begin..end);
        if grain > 0 {
            parts = parts.grain(grain);
        }
        let run = || {
            parts.run_pieces(|part| {
                let argument = &argument;
                // SAFETY: the body may be called with this argument on other threads, several times
                // at a time, by the contract.
                unsafe { body(part.start, part.end, argument.0) }
            });
        };
        if myriad_core::Handle::current().is_some() {
            run();
        } else {
            handle.run(run);
        }
        Ok(())
    })
}
