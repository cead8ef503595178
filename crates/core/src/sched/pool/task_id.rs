//! The number of a task.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of a task: no other task of the process has it, or will ever have it.
///
/// Given out at the first question, so the order says nothing.
///
/// # Examples
/// ```
/// use myriad::{spawn, task};
/// let h = spawn(|| task::current().unwrap().id());
/// let id = h.id();
/// assert_eq!(h.join().unwrap(), id);
/// println!("task {}", id.as_u64());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub(crate) NonZeroU64);

impl TaskId {
    /// The next one.
    pub(crate) fn next() -> TaskId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // Relaxed: unique is all it has to be. 2^64 questions take centuries.
        TaskId(NonZeroU64::new(LAST.fetch_add(1, Relaxed) + 1).expect("fewer than 2^64 tasks"))
    }

    /// As a number, for logs.
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }
}

/// The number in this place, which is 0 before the first question.
pub(crate) fn number_in(cell: &Cell<u64>) -> TaskId {
    TaskId(NonZeroU64::new(cell.get()).unwrap_or_else(|| {
        let id = TaskId::next();
        cell.set(id.as_u64());
        id.0
    }))
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
