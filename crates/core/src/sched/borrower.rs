//! Threads that are no workers, and to whom they belong meanwhile: to a dedicated task, to a task
//! that makes a call there, to a pool.

use crate::record::current::CurrentTask;
use crate::record::header::Header;
use crate::sched::pool::{Handle, Pool};
use crate::sched::worker::Worker;
use std::cell::Cell;
use std::ptr::null_mut;

thread_local! {
    /// The task whose thread this is.
    pub(crate) static ME: Cell<*mut Header> = const { Cell::new(null_mut()) };
}

/// The task that the calling thread is there for: a dedicated one, or one that makes a call here
/// ([`with_borrower`]). Null if there is none.
pub(crate) fn me() -> *mut Header {
    // (At the very end of a thread there is none any more.)
    let me = ME.try_with(Cell::get).unwrap_or(null_mut());
    if me.is_null() { borrower().task } else { me }
}

/// Where a thread belongs that is no worker: where the dedicated task was started from, or whatever
/// keeps its thread ([`with_borrower`]).
pub(crate) fn home() -> Option<Handle> {
    let task = ME.try_with(Cell::get).unwrap_or(null_mut());
    if task.is_null() {
        return borrower().pool;
    }
    // SAFETY: the running task's record lives; `runtime` is its pool's number, and does not change.
    Some(Handle::of(unsafe { Pool::of((*task).runtime()) }))
}

thread_local! {
    static BORROWER: Cell<Borrower> = const { Cell::new(Borrower::NOTHING) };
}

/// To whom a thread belongs meanwhile that is no worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Borrower {
    /// Where it spawns. (A call that nobody waits for may outlive the pool's runtime.)
    pub(crate) pool: Option<Handle>,
    /// The task that goes on here; null if it is another's, or nobody's.
    pub(crate) task: *mut Header,
}

impl Borrower {
    /// To nobody.
    pub(crate) const NOTHING: Borrower = Borrower { pool: None, task: null_mut() };

    /// To this pool.
    pub(crate) fn to_pool(pool: Option<Handle>) -> Borrower {
        Borrower { pool, ..Borrower::NOTHING }
    }

    /// To what runs on this worker.
    pub(crate) fn to_running(w: &Worker) -> Borrower {
        // What runs; it stays the same task until it goes on here.
        let task = w.running_record().cast_mut();
        Borrower { pool: Some(Handle::of(w.pool)), task: if CurrentTask::is_nobody(task) { null_mut() } else { task } }
    }
}

/// To whom the calling thread belongs.
fn borrower() -> Borrower {
    // (At the very end of a thread there is nobody any more.)
    BORROWER.try_with(Cell::get).unwrap_or(Borrower::NOTHING)
}

/// Calls `f` on a thread that is no worker, and belongs to somebody meanwhile.
pub(crate) fn with_borrower<T>(to: Borrower, f: impl FnOnce() -> T) -> T {
    struct Restore(Borrower);
    impl Drop for Restore {
        fn drop(&mut self) {
            BORROWER.set(self.0);
        }
    }
    let _restore = Restore(BORROWER.replace(to));
    f()
}
