//! A scope's task: what its record holds, and how it runs, ends, and is counted.

use super::Scope;
use super::panics::keep;
use crate::api::spawn;
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header, Mode, Outcome, TaskFlags};
use crate::record::held::{Ending, Finished};
use crate::record::payload as record;
use crate::sched::cancel::scoped_tasks::ScopedTasks;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code::{self, UserValue};
use crate::sched::waker::wake_waiter_as;
use crate::sched::{cancel, context, finish, lifecycle, worker};
use myriad_base::sys::atomic::Ordering::Acquire;

/// What a scoped record holds. The scope's address comes first, whatever the closure.
#[repr(C)]
pub(super) struct Job<F> {
    pub(super) scope: *const Scope<'static, 'static>,
    pub(super) f: F,
}

/// # Safety
/// `task` is a live scoped record whose task has not begun.
pub(super) unsafe fn scope_of(task: *mut Header) -> *const Scope<'static, 'static> {
    const { assert!(std::mem::offset_of!(Job<()>, scope) == 0) };
    // SAFETY: a live scoped record, by the contract. A `Job` begins with the pointer, also where it
    // stands in a box: then this reads the box's address, which is no scope's; such a task is just
    // not run inline.
    unsafe { *record::get::<*const Scope<'static, 'static>>(task) }
}

/// `run` of a scoped closure's record.
///
/// # Safety
/// `task` is the caller's alone, of a `Job<F>` with the result `T`, and in the state that `mode`
/// says ([`Run`](crate::record::header::Run)).
pub(super) unsafe fn run_job<F, T>(task: *mut Header, mode: Mode) -> Ended
where
    F: FnOnce() -> T,
{
    // SAFETY: this function's contract.
    unsafe { run_job_by::<F, T>(task, mode, |f, _| f()) }
}

/// The same; `call` calls the closure, and is told the scope.
///
/// # Safety
/// As for [`run_job`].
#[inline(always)]
pub(super) unsafe fn run_job_by<F, T>(
    task: *mut Header,
    mode: Mode,
    call: impl FnOnce(F, *const Scope<'static, 'static>) -> T,
) -> Ended {
    // SAFETY: `task` is the caller's, and `mode` says what its payload is (this function's
    // contract): the job, which is taken out once, or the outcome. The scope's frame stands until
    // `down`.
    unsafe {
        if mode == Mode::DropOutcome {
            spawn::drop_outcome::<T>(task);
            return Ended::BySelf;
        }
        let Job { scope, f } = record::take::<Job<F>>(task);
        let counts = &raw const (*scope).counts;
        if mode == Mode::DropUnstarted {
            let dropped = UserValue::new(f).drop_value();
            let w = worker::current();
            // The caller completes; the scope is told here, because it is the last who knows it.
            // Only the outcome is written afterwards, to a record that no longer refers to the
            // scope.
            (*counts).down(w.as_deref());
            return match dropped {
                Ok(()) => Ended::BySelf,
                Err(payload) => unwind::resume(payload),
            };
        }
        let w = worker::current().expect("a task runs on a worker");
        let (mut w, result) = ScopedTasks::with(w, task, &raw const (*scope).head, || {
            // Relaxed flags: whoever sets them for a task that has not begun has its handle.
            // Acquire: pairs with `cancel`.
            if (*task).has_flags(TaskFlags::CANCELLED) || (*scope).head.cancelled.load(Acquire) {
                cancel::never_start(f)
            } else {
                user_code::body(|| call(f, scope))
            }
        });
        match result {
            Ok(value) => {
                record::put(task, value);
                (*task).set_outcome(Outcome::Returned);
            }
            Err(mut payload) => {
                cancel::end_cancellation(&mut payload);
                record::put::<Payload>(task, payload);
                (*task).set_outcome(Outcome::Panicked);
            }
        }
        if w.running.has_context() {
            w = context::end(w);
        }
        let ending = lifecycle::end_by_runner(task);
        // What is left of the task runs as the task until its record is freed, and is cancelled no
        // more. Once the end can be seen without that, nothing runs here as this task: the record
        // may be another one's.
        match ending {
            Ending::Held => {}
            Ending::Detached(task) => {
                // (As in `run_loop::task::end_detached`.)
                task.task_ref().drops_yet();
                // (What has no destructor is forgotten.)
                let returned = if std::mem::needs_drop::<T>() { Err(task) } else { task.into_value() };
                w = match returned.map_err(Finished::into_panic) {
                    Ok((_, record)) => {
                        finish::free(Some(&w), record);
                        w
                    }
                    Err(Ok((payload, record))) => {
                        cancel::keep_off_for_good(record.task_ref().header());
                        let w = finish::leave_task(keep(w, &(*scope).panic, payload));
                        finish::free(Some(&w), record);
                        w
                    }
                    Err(Err(task)) => {
                        cancel::keep_off_for_good(task.task_ref().header());
                        // Before the count: the result may borrow from the scope.
                        finish::drop_own_outcome(w, task)
                    }
                };
            }
            Ending::Awaited(waiter) => {
                w.running.set(CurrentTask::NOTHING);
                w = wake_waiter_as(w, waiter);
            }
        }
        (*counts).down(Some(&w));
    }
    Ended::BySelf
}
