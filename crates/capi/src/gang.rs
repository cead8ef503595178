//! Gangs.

use crate::Pointer;
use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use myriad_core::task::{GangError, try_gang};
use std::ffi::c_void;

/// Job `index` of a gang.
pub type myriad_job = Option<unsafe extern "C-unwind" fn(index: usize, argument: *mut c_void)>;

/// Calls `job(0, argument)` ... `job(n - 1, argument)` all at the same time, each on a thread of
/// the system of its own that does nothing else until its job ends. For jobs that wait for each
/// other by looking at memory; everything else is better off with myriad_parallel_for. The caller's
/// thread is one of them.
///
/// All gangs of the process together get as many threads as there are processors; the next one
/// waits for its turn. Inside a job nothing sets it aside: it waits as a thread does. Needs no
/// runtime.
///
/// Blocks first until it is this gang's turn, where a calling task is set aside; then until all
/// jobs have ended, where it keeps its thread.
///
/// Errors: MYRIAD_ERROR_NULL (the job); MYRIAD_ERROR_NESTED in a job of a gang;
/// MYRIAD_ERROR_INVALID (n is over 4096); MYRIAD_ERROR_SYSTEM (not enough threads);
/// MYRIAD_ERROR_CANCELLED, while it waited for its turn. No job has begun then.
///
/// # Safety
/// The job may be called with these indices on other threads at the same time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_gang(n: usize, job: myriad_job, argument: *mut c_void) -> myriad_status {
    guarded(|| {
        let job = job.ok_or_else(|| null("the job"))?;
        let argument = Pointer(argument);
        let result = try_gang(n, |i| {
            let argument = &argument;
            // SAFETY: the job may be called with each index below `n` on other threads at the same
            // time, by the contract; the gang calls it once for each.
            unsafe { job(i, argument.0) }
        });
        result.map_err(|error| {
            let status = match error {
                GangError::Nested => MYRIAD_ERROR_NESTED,
                GangError::TooMany { .. } => MYRIAD_ERROR_INVALID,
                _ => MYRIAD_ERROR_SYSTEM,
            };
            Failure::new(status, error.to_string())
        })
    })
}
