//! Parallel loops.

use crate::Pointer;
use crate::error::{guarded, myriad_status, null};
use crate::runtime::{handle, myriad_workers};
use std::ffi::c_void;

/// A part of a loop: the numbers from `begin` on, before `end`.
pub type myriad_body = Option<unsafe extern "C-unwind" fn(begin: usize, end: usize, argument: *mut c_void)>;

/// Calls `body` for parts that together are the numbers from `begin` on, before `end`; in parallel, on the workers.
///
/// A part has at most `grain` numbers; 0: as many as make some parts for each worker. Parts are the caller's or are
/// taken by workers that have nothing to do, so a loop in a loop, or in many tasks at a time, has no more threads than workers. Parts
/// may wait for each other only if they would also end one after the other.
///
/// Blocks until all parts have ended: a calling task is set aside if others have taken some.
///
/// Errors: MYRIAD_ERROR_NULL (the body), MYRIAD_ERROR_NOT_STARTED. The body was not called then. If `end` is not larger than `begin` nothing is
/// to be done.
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
        let Some(n) = end.checked_sub(begin).filter(|n| *n > 0) else { return Ok(()) };
        let grain = if grain == 0 { n.div_ceil(PARTS * myriad_workers().max(1)) } else { grain };
        let argument = Pointer(argument);
        let part = |begin, end| {
            let argument = &argument;
            // SAFETY: the caller.
            unsafe { body(begin, end, argument.0) }
        };
        if myriad_core::Handle::current().is_some() {
            halves(begin, end, grain, &part);
        } else {
            handle.run(|| halves(begin, end, grain, &part));
        }
        Ok(())
    })
}

/// Parts for each worker, unless asked otherwise: enough for an even load.
const PARTS: usize = 8;

fn halves<F: Fn(usize, usize) + Sync>(begin: usize, end: usize, grain: usize, part: &F) {
    if end - begin <= grain {
        return part(begin, end);
    }
    let middle = begin + (end - begin) / 2;
    myriad_core::join(|| halves(begin, middle, grain, part), || halves(middle, end, grain, part));
}
