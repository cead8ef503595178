//! Ending tasks that nobody wants any more.

use crate::error::{guarded, myriad_status};
use crate::task::{TASKS, call, myriad_function, myriad_task, put};
use myriad_core::cancel;
use std::ffi::c_void;

/// Cancels a task. If it has not begun it never does, and who joins gets MYRIAD_ERROR_CANCELLED. If
/// it has, each of its waits ends at once, with that status and without an effect, also those to
/// come; so its function finds out, cleans up (see myriad_shield), and returns. Nothing ends it
/// from outside: what it returns goes to who joins, as always. One that computes asks
/// myriad_is_cancelled.
///
/// In a cancelled task myriad_join, myriad_parallel_for and myriad_run pass it on to what they wait
/// for, and return when that has ended.
///
/// Nothing happens if the task has ended. It must still be joined or detached.
///
/// Never blocks; it does not wait for the task. Errors: MYRIAD_ERROR_NULL; MYRIAD_ERROR_STALE: the
/// task was joined or detached, or another thread joins it just now.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_cancel(task: *const myriad_task) -> myriad_status {
    guarded(|| {
        TASKS.get(task)?.cancel();
        Ok(())
    })
}

/// Is the calling task cancelled? For one that computes and does not wait. False on a thread that
/// is no worker, and in myriad_shield.
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_is_cancelled() -> bool {
    cancel::is_cancelled()
}

/// Calls `function(argument)`, in which no wait is ended because the task is cancelled: for
/// clean-up that waits, and for steps that are to be done as a whole. The cancellation arrives
/// behind it.
///
/// Blocks until the function has returned. `result`, unless NULL, gets what it returns. Errors:
/// MYRIAD_ERROR_NULL.
///
/// # Safety
/// The function may be called with this argument. `result` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_shield(
    function: myriad_function,
    argument: *mut c_void,
    result: *mut *mut c_void,
) -> myriad_status {
    guarded(|| {
        // SAFETY: the contract has both: the function may be called with this argument, and
        // `result` is NULL or has room for a pointer.
        unsafe { put(result, cancel::shield(call(function, argument)?)) };
        Ok(())
    })
}
