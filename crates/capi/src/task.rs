//! Tasks from functions of C.

use crate::Pointer;
use crate::error::{Failure, guarded, myriad_status, myriad_status::*, null};
use crate::handle::{Table, Taken};
use crate::runtime::{handle, patience, string};
use myriad_core::task::{Builder, keep_thread};
use myriad_core::{JoinError, JoinHandle, blocking, time, yield_now};
use std::ffi::{c_char, c_void};

/// A function that is run as a task: its argument, and its result, are the program's business. It
/// may call everything of Myriad.
///
/// It must return: not be left by longjmp, pthread_exit, or the cancellation of its thread. A C++
/// exception that leaves it ends the process.
pub type myriad_function = Option<unsafe extern "C-unwind" fn(argument: *mut c_void) -> *mut c_void>;

/// A task that somebody may wait for: see myriad_spawn.
#[derive(Debug)]
pub struct myriad_task(());

pub(crate) static TASKS: Table<JoinHandle<Returned>> = Table::new(0xa5, "the task", "joined or detached");

#[derive(Debug)]
pub(crate) struct Returned(*mut c_void);
// SAFETY: an address.
unsafe impl Send for Returned {}

/// The call of a function, to be made once, on any thread.
///
/// # Safety
/// `f` may be called with `argument` on another thread, at any time until the closure that this
/// returns is gone.
pub(crate) unsafe fn call(
    f: myriad_function,
    argument: *mut c_void,
) -> Result<impl FnOnce() -> Returned + Send + 'static, Failure> {
    let f = f.ok_or_else(|| null("the function"))?;
    let argument = Pointer(argument);
    Ok(move || {
        let argument = argument;
        // SAFETY: `f` may be called with this argument on any thread, by the contract; this closure
        // is called once at most.
        Returned(unsafe { f(argument.0) })
    })
}

/// # Safety
/// `out` is NULL or points to room for a pointer.
pub(crate) unsafe fn put(out: *mut *mut c_void, returned: Returned) {
    if !out.is_null() {
        // SAFETY: `out` is not NULL, so there is room for a pointer, by the contract.
        unsafe { out.write(returned.0) };
    }
}

/// Calls `function(argument)` as a task, and waits for it: what a main function does first. In a
/// task it is a plain call.
///
/// Blocks until the function has returned. `result`, unless NULL, gets what it returns.
///
/// Errors: MYRIAD_ERROR_NULL (the function), MYRIAD_ERROR_NOT_STARTED. The function was not called
/// then.
///
/// # Safety
/// The function may be called with this argument on another thread. `result` is NULL or points to
/// room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_run(
    function: myriad_function,
    argument: *mut c_void,
    result: *mut *mut c_void,
) -> myriad_status {
    guarded(|| {
        // SAFETY: the function may be called with this argument on another thread, by the contract.
        let f = unsafe { call(function, argument)? };
        let returned = if myriad_core::Handle::current().is_some() { f() } else { handle()?.run(f) };
        // SAFETY: `result` is NULL or has room for a pointer, by the contract.
        unsafe { put(result, returned) };
        Ok(())
    })
}

/// Starts a task that calls `function(argument)`. `task` gets it, for myriad_join or myriad_detach,
/// one of which must be called; NULL: nobody waits for it.
///
/// Never blocks; some 100 nanoseconds. In the calling task's runtime, or the one that was started.
///
/// Errors: MYRIAD_ERROR_NULL (the function), MYRIAD_ERROR_NOT_STARTED. If the runtime is being
/// stopped the task may be dropped, which its joiner is told.
///
/// # Safety
/// The function may be called with this argument on another thread, at any time until it was
/// joined. `task` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_spawn(
    function: myriad_function,
    argument: *mut c_void,
    task: *mut *mut myriad_task,
) -> myriad_status {
    guarded(|| {
        // SAFETY: the function may be called with this argument on another thread, and `task` is
        // NULL or has room for a pointer, by the contract.
        unsafe {
            let f = call(function, argument)?;
            give(task, Builder::new().on(handle()?).spawn(f));
        }
        Ok(())
    })
}

/// As myriad_spawn, with a name: that of the task in the text of myriad_stop, and where a stack
/// overflows.
///
/// Errors: as myriad_spawn; MYRIAD_ERROR_NULL (the name), MYRIAD_ERROR_INVALID (it is no UTF-8).
///
/// # Safety
/// The function may be called with this argument on another thread, at any time until it was
/// joined. `task` is NULL or points to room for a pointer. `name` is a string, which is copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_spawn_named(
    name: *const c_char,
    function: myriad_function,
    argument: *mut c_void,
    task: *mut *mut myriad_task,
) -> myriad_status {
    guarded(|| {
        // SAFETY: `name` is a string, the function may be called with this argument on another
        // thread, and `task` is NULL or has room, by the contract.
        unsafe {
            let (name, f) = (string(name, "the name")?, call(function, argument)?);
            give(task, Builder::new().name(name).on(handle()?).spawn(f));
        }
        Ok(())
    })
}

/// # Safety
/// `out` is NULL or points to room for a pointer.
unsafe fn give(out: *mut *mut myriad_task, handle: JoinHandle<Returned>) {
    if !out.is_null() {
        // SAFETY: `out` is not NULL, so there is room for a pointer, by the contract.
        unsafe { out.write(TASKS.insert(handle)) };
    }
}

/// Waits for a task, and frees it: it must not be used again. `result`, unless NULL, gets what its
/// function has returned.
///
/// Blocks until the task has ended: the calling task is set aside, a thread that is no worker
/// sleeps. If it has not begun it may run on the caller's stack.
///
/// Errors: MYRIAD_ERROR_NULL; MYRIAD_ERROR_SHUTDOWN: it never ran; MYRIAD_ERROR_CANCELLED: it was
/// cancelled before it began, or the caller was (myriad_is_cancelled tells), and then so was the
/// task, and it has ended; MYRIAD_ERROR_IN_TASK: it is the caller itself; MYRIAD_ERROR_PANIC: no
/// memory to wait. The task is freed in any case. MYRIAD_ERROR_STALE: it was joined or detached
/// already, or another thread joins it just now.
///
/// # Safety
/// `result` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_join(task: *mut myriad_task, result: *mut *mut c_void) -> myriad_status {
    guarded(|| {
        let Taken { value: handle, slot } = TASKS.take(task)?;
        drop(slot);
        // SAFETY: `result` is NULL or has room for a pointer, by the contract.
        unsafe { take(handle.join(), result) }
    })
}

/// As myriad_join, but blocks for at most so many nanoseconds.
///
/// Errors: as myriad_join; MYRIAD_ERROR_TIMEOUT: it has not ended, and was not freed. If the caller
/// is cancelled the task is detached, and not cancelled too.
///
/// # Safety
/// `result` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_join_timeout(
    task: *mut myriad_task,
    result: *mut *mut c_void,
    timeout_ns: u64,
) -> myriad_status {
    guarded(|| {
        let Taken { value: handle, slot } = TASKS.take(task)?;
        match handle.join_timeout(patience(timeout_ns)) {
            // SAFETY: `result` is NULL or has room for a pointer, by the contract.
            Ok(ended) => unsafe { take(ended, result) },
            Err(handle) => {
                slot.put_back(handle);
                Err(MYRIAD_ERROR_TIMEOUT.into())
            }
        }
    })
}

/// What a task has left, for who joins.
///
/// # Safety
/// `result` is NULL or points to room for a pointer.
unsafe fn take(ended: Result<Returned, JoinError>, result: *mut *mut c_void) -> Result<(), Failure> {
    match ended {
        // SAFETY: `result` is NULL or has room for a pointer, by the contract.
        Ok(returned) => unsafe { put(result, returned) },
        Err(error) if error.is_shutdown() => return Err(MYRIAD_ERROR_SHUTDOWN.into()),
        Err(error) if error.is_self_join() => return Err(Failure::new(MYRIAD_ERROR_IN_TASK, error.to_string())),
        Err(error) if error.is_cancelled() => return Err(MYRIAD_ERROR_CANCELLED.into()),
        Err(error) => return Err(Failure::new(MYRIAD_ERROR_PANIC, error.to_string())),
    }
    Ok(())
}

/// Gives up a task that nobody will wait for: it goes on. It must not be used again.
///
/// Never blocks. Errors: MYRIAD_ERROR_NULL, MYRIAD_ERROR_STALE.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_detach(task: *mut myriad_task) -> myriad_status {
    guarded(|| {
        let Taken { value: handle, slot } = TASKS.take(task)?;
        drop((slot, handle));
        Ok(())
    })
}

/// Has the task ended? Then myriad_join does not wait. False for NULL, for a task that was joined
/// or detached, and while another thread joins it.
///
/// Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_is_finished(task: *const myriad_task) -> bool {
    TASKS.get(task).is_ok_and(|task| task.is_finished())
}

/// Lets other tasks of this worker go first; on a thread that is no worker, other threads.
///
/// Blocks only as long as they take. Errors: MYRIAD_ERROR_CANCELLED.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_yield() -> myriad_status {
    guarded(|| {
        yield_now();
        Ok(())
    })
}

/// Sleeps for so many nanoseconds, and not less.
///
/// Blocks: the calling task is set aside, a thread that is no worker sleeps. Errors:
/// MYRIAD_ERROR_CANCELLED: less than that.
#[unsafe(no_mangle)]
pub extern "C" fn myriad_sleep(nanoseconds: u64) -> myriad_status {
    guarded(|| {
        time::sleep(patience(nanoseconds));
        Ok(())
    })
}

/// Calls `function(argument)` on a thread where it may hold up the thread: for calls of the system,
/// and libraries that wait by themselves. On a thread that is no worker it is a plain call.
///
/// Blocks until the function has returned: the calling task is set aside, and its worker goes on.
/// `result`, unless NULL, gets what it returns.
///
/// Errors: MYRIAD_ERROR_NULL.
///
/// # Safety
/// The function may be called with this argument on another thread. `result` is NULL or points to
/// room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_blocking(
    function: myriad_function,
    argument: *mut c_void,
    result: *mut *mut c_void,
) -> myriad_status {
    guarded(|| {
        // SAFETY: the function may be called with this argument on another thread, and `result` is
        // NULL or has room for a pointer, by the contract.
        unsafe { put(result, blocking(call(function, argument)?)) };
        Ok(())
    })
}

/// Calls `function(argument)` right here, so that nothing in it sets the task aside: what waits in
/// it keeps the thread. For code that waits while it holds a lock of the system, or has changed a
/// thread-local variable for a while.
///
/// Blocks until the function has returned; a cancellation of the calling task arrives behind it. In
/// fiber mode tasks that wait on this worker wait until then; if the function waits for one of
/// them, both do for ever.
///
/// Errors: MYRIAD_ERROR_NULL.
///
/// # Safety
/// The function may be called with this argument. `result` is NULL or points to room for a pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn myriad_keep_thread(
    function: myriad_function,
    argument: *mut c_void,
    result: *mut *mut c_void,
) -> myriad_status {
    guarded(|| {
        // SAFETY: the function may be called with this argument, and `result` is NULL or has room
        // for a pointer, by the contract.
        unsafe { put(result, keep_thread(call(function, argument)?)) };
        Ok(())
    })
}
