//! Who a task is: its number, name and place.
//!
//! Most tasks are never asked for their number, so none is given out before: it stands in a table of the runtime, as names
//! do, and a flag in the record says so. (A field would make each record, and each spawn, dearer.) A task whose record is
//! in a frame, such as the second closure of `join`, has no handle; its number stands in its context.

use super::header::{Header, Kind, NAMED};
use super::{context, dedicated};
use crate::runtime::hub::Hub;
use crate::sched::worker;
use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of a task: no other task of the process has it, or will ever have it.
///
/// Given out at the first question, so the order says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(NonZeroU64);

impl TaskId {
    /// The next one.
    fn next() -> TaskId {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // Relaxed: unique is all it has to be. 2^64 questions take centuries.
        TaskId(NonZeroU64::new(LAST.fetch_add(1, Relaxed) + 1).expect("fewer than 2^64 tasks"))
    }

    /// As a number, for logs.
    pub fn as_u64(self) -> u64 {
        self.0.get()
    }

    /// The number of a task whose record is not in a frame.
    ///
    /// # Safety
    /// The record lives.
    pub(crate) unsafe fn of(task: *const Header) -> TaskId {
        // SAFETY: the caller; `runtime` does not change.
        unsafe { Hub::of((*task).runtime).id_of(task, TaskId::next) }
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// What [`current`] says about a task.
#[derive(Debug, Clone)]
pub struct Task {
    id: TaskId,
    name: Option<Arc<str>>,
    place: &'static Location<'static>,
}

impl Task {
    /// Its number. [`JoinHandle::id`](super::JoinHandle::id) says the same.
    pub fn id(&self) -> TaskId {
        self.id
    }
    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// Where it was spawned.
    pub fn place(&self) -> &'static Location<'static> {
        self.place
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "task '{name}' ({}) spawned at {}", self.id, self.place),
            None => write!(f, "task {} spawned at {}", self.id, self.place),
        }
    }
}

/// The calling task; `None` where no task runs, as on a foreign thread.
///
/// The second closure of [`join`](crate::join) is a task of its own, without a name. (Its place is that of the call; or, if it
/// runs as part of its caller and is the first on its worker to ask, the caller's.)
///
/// Costs a lock and a table; not for inner loops.
///
/// # Examples
/// ```
/// use myriad_core::task::current;
/// let h = myriad_core::spawn(|| current().unwrap().id());
/// let id = h.id();
/// assert_eq!(h.join().unwrap(), id);
/// assert!(current().is_none());
/// ```
pub fn current() -> Option<Task> {
    let record = match worker::current() {
        // SAFETY: the calling thread's worker runs this task, so its record lives.
        Some(w) => unsafe { w.running.get().record() },
        None => dedicated::me().cast_const(),
    };
    if record.is_null() {
        return None;
    }
    // SAFETY: as above; kind, place and runtime do not change.
    unsafe {
        let (kind, place) = ((*record).kind, (*record).place);
        // With or without a record of its own: what runs on top of another task has its context, or gets one here.
        let nested = kind.has(Kind::ON_STACK);
        let id = if nested { number_in_context() } else { TaskId::of(record) };
        let named = (*record).marks.load(Relaxed) & NAMED != 0;
        let name = if named { Hub::of((*record).runtime).name_of(record, true) } else { None };
        Some(Task { id, name, place })
    }
}

fn number_in_context() -> TaskId {
    let context = context::find_or_make();
    // SAFETY: the running task's context.
    let number: &Cell<u64> = unsafe { (*context).number() };
    if let Some(number) = NonZeroU64::new(number.get()) {
        return TaskId(number);
    }
    let id = TaskId::next();
    number.set(id.as_u64());
    id
}
