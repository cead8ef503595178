//! Tasks of a scope without a handle, for those who spawn them by the million.
//!
//! A handle that is dropped at once costs a look at the deque, and a closure that keeps the address
//! of its scope has it twice. So here the closure is given the scope, and a closure of two words
//! has a record of one cache line.

use super::Scope;
use super::job::{Job, run_job_by};
use crate::record::create::Blank;
use crate::record::header::{Ended, Header, Kind, Mode};
use crate::sched::worker;
use std::mem::ManuallyDrop;
use std::panic::Location;

/// Starts a task in the scope, as [`Scope::spawn`] does whose handle is dropped at once; `f` is
/// called with the scope.
///
/// # Blocking
/// Never blocks.
#[inline]
#[track_caller]
pub fn spawn_detached<'scope, 'env, F>(s: &'scope Scope<'scope, 'env>, f: F)
where
    F: FnOnce(&'scope Scope<'scope, 'env>) + Send + 'scope,
{
    const KIND: Kind = Kind::CLOSURE.and(Kind::SCOPED);
    let w = match worker::current() {
        Some(w) if w.is_plain() && std::ptr::eq(w.pool, s.head.home.inner()) => w,
        _ => return drop(s.spawn_as(KIND, move || f(s))),
    };
    let job = ManuallyDrop::new(Job { scope: std::ptr::from_ref(s).cast(), f });
    s.counts.up(Some(&w));
    // SAFETY: `run` is the function of such records. The closure is `Send`, and 'scope outlives the
    // task: the scope's frame waits for it.
    let task = unsafe { Blank::of(&w.memory).closure_to_push(run::<F>, w.kind_word, KIND, job, Location::caller()) };
    w.push_detached(task);
}

/// `run` of such a record.
///
/// # Safety
/// As for [`run_job`](super::job::run_job), of a `Job<F>` without a result.
unsafe fn run<'scope, 'env: 'scope, F>(task: *mut Header, mode: Mode) -> Ended
where
    F: FnOnce(&'scope Scope<'scope, 'env>),
{
    // SAFETY: the record is the caller's (this function's contract). The job's scope is the one
    // that was given to `spawn_detached`, of these lifetimes, and stands until its tasks have
    // ended.
    unsafe { run_job_by::<F, ()>(task, mode, |f, scope| f(&*scope.cast())) }
}
