//! What few tasks have, by their address: names, numbers, properties for a scheduler.

use super::TaskId;
use crate::queue::policy::ready_task::PropertyValue;
use crate::record::header::{Header, TaskFlags};
use crate::record::task::{HeapRecord, TaskRef};
use crate::sched::pool::Pool;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl TaskId {
    /// The number of a task whose record is not in a frame.
    pub(crate) fn of(task: &Header) -> TaskId {
        // SAFETY: the number stands in the record of a task.
        unsafe { Pool::of(task.runtime()) }.id_of(task, TaskId::next)
    }
}

impl Pool {
    /// Remembers a task's name.
    pub(crate) fn set_name(&self, task: &Header, name: Arc<str>) {
        self.names.lock().insert(std::ptr::from_ref(task).addr(), name);
        // Relaxed: as in `id_of`.
        task.flags().fetch_or(TaskFlags::NAMED, Relaxed);
    }

    /// A task's number; `next` makes one if it has none.
    pub(crate) fn id_of(&self, task: &Header, next: impl FnOnce() -> TaskId) -> TaskId {
        let mut ids = self.ids.lock();
        let address = std::ptr::from_ref(task).addr();
        // Relaxed, here and at the free, which comes after every use of the record: the table is
        // under the lock.
        if task.flags().load(Relaxed) & TaskFlags::NUMBERED == 0 {
            ids.insert(address, next());
            task.flags().fetch_or(TaskFlags::NUMBERED, Relaxed);
        }
        ids[&address]
    }

    /// Looks at the task in this record, if it is the one of this number and was not freed. Under
    /// the table's lock: `look` takes no other lock, and runs no user code.
    pub(crate) fn look_at<R>(&self, record: HeapRecord, id: TaskId, look: impl FnOnce(TaskRef<'_>) -> R) -> Option<R> {
        let ids = self.ids.lock();
        let is_there = ids.get(&record.as_ptr().addr()) == Some(&id);
        // SAFETY: the number is there, so the record is that task's, and lives: who frees it takes
        // the number out first (`forget`), under this lock.
        is_there.then(|| look(unsafe { TaskRef::from_raw(record.as_ptr()) }))
    }

    /// Forgets a task's name, number and property; the last comes back, to be dropped where user
    /// code may run.
    #[cold]
    pub(crate) fn forget(&self, task: *const Header) -> Option<PropertyValue> {
        self.names.lock().remove(&task.addr());
        self.ids.lock().remove(&task.addr());
        self.workers.table().and_then(|table| table.forget(task.addr()))
    }

    /// A task's name. `None` also if the table is in use and `wait` is false (in a signal handler).
    pub(crate) fn name_of(&self, task: *const Header, wait: bool) -> Option<Arc<str>> {
        let names = if wait { self.names.lock() } else { self.names.try_lock()? };
        names.get(&task.addr()).cloned()
    }

    /// A task's number, if it has one.
    pub(crate) fn number_of(&self, task: *const Header) -> Option<TaskId> {
        self.ids.lock().get(&task.addr()).copied()
    }
}
