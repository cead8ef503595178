//! Cancelling a task without its handle.
//!
//! A record has no reference count, and is another task's soon after its own has ended. So a
//! canceller is an address and a number: the number of a task stands in a table of its pool from
//! the first question to the free of the record, and no other task ever has it. Who finds the
//! number there, under the table's lock, has a record that is that task's as long as the lock is
//! held: for some instructions, in which the task is marked. What the mark asks for (a wake, a
//! request to the home) is done without the lock, and needs no record that lives
//! ([`request::Marked`]).
//!
//! **Rejected.** A reference count in each record: each spawn would pay. A generation, as wakers
//! have: a mark that comes late would cancel the next task, where a wake that comes late is
//! spurious.
//!
//! Tests: `cancel_handles.rs`.

use super::handle::JoinHandle;
use super::id::TaskId;
use crate::record::task::HeapRecord;
use crate::sched::cancel::request;
use crate::sched::pool::Pool;
use std::fmt;

/// Cancels a task without its [`JoinHandle`], which may be joined or detached meanwhile: what
/// [`JoinHandle::canceller`] returns.
///
/// Cloning copies a reference. It keeps nothing alive: neither the task, nor its result.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// let h = myriad::spawn(|| myriad::time::sleep(Duration::from_secs(3600)));
/// let canceller = h.canceller();
/// assert!(!canceller.is_finished());
/// myriad::spawn(move || canceller.cancel());
/// assert!(h.join().unwrap_err().is_cancelled());
/// ```
#[doc(alias = "AbortHandle")]
#[derive(Clone)]
pub struct Canceller {
    id: TaskId,
    task: HeapRecord,
    pool: &'static Pool,
}

// SAFETY: the record is looked at under the lock of the pool's table, while the number says that
// it is that task's.
unsafe impl Send for Canceller {}
// SAFETY: `&Canceller` looks at the record under that lock, too.
unsafe impl Sync for Canceller {}

impl<T> JoinHandle<T> {
    /// A way to cancel the task that can be cloned and kept where the handle is not: by whoever
    /// watches over tasks that others join.
    ///
    /// # Blocking
    /// Never blocks. It costs a lock and a table, as [`id`](Self::id) does; not for inner loops.
    ///
    /// # Examples
    /// ```
    /// let h = myriad::spawn(|| 6 * 7);
    /// let canceller = h.canceller();
    /// assert_eq!(canceller.id(), h.id());
    /// assert_eq!(h.join().unwrap(), 42);
    /// canceller.cancel(); // too late: nothing happens
    /// assert!(canceller.is_finished());
    /// ```
    #[doc(alias = "abort_handle")]
    #[track_caller]
    pub fn canceller(&self) -> Canceller {
        let task = self.task_ref();
        // SAFETY: the records of tasks that have a handle are in memory for records.
        let record = unsafe { HeapRecord::from_raw(task.as_ptr()) };
        Canceller { id: TaskId::of(&task), task: record, pool: Pool::of_task(task) }
    }
}

impl Canceller {
    /// Cancels the task: as [`JoinHandle::cancel`]. Nothing happens if it has ended.
    ///
    /// # Blocking
    /// Never blocks; it does not wait for the task.
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        let marked =
            self.pool.look_at(self.task, self.id, |task| if task.is_done() { None } else { request::mark(task) });
        if let Some(marked) = marked.flatten() {
            marked.tell();
        }
    }

    /// Has the task ended? Never blocks.
    pub fn is_finished(&self) -> bool {
        self.pool.look_at(self.task, self.id, |task| task.is_done()).unwrap_or(true)
    }

    /// The task's number: that of [`JoinHandle::id`].
    pub fn id(&self) -> TaskId {
        self.id
    }
}

impl fmt::Debug for Canceller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Canceller").field("id", &self.id.as_u64()).finish_non_exhaustive()
    }
}
