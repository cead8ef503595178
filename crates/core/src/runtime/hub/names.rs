//! What few tasks have, by their address: names and numbers.

use super::{Hub, locked};
use crate::sys::atomic::Ordering::*;
use crate::task::TaskId;
use crate::task::header::Header;
use crate::task::header::Marks;
use std::sync::Arc;

impl Hub {
    /// Remembers a task's name.
    ///
    /// # Safety
    /// The record lives.
    pub unsafe fn set_name(&self, task: *const Header, name: Arc<str>) {
        locked(&self.names).insert(task.addr(), name);
        // SAFETY: the caller. Relaxed: as in `id_of`.
        unsafe { (*task).marks.fetch_or(Marks::NAMED, Relaxed) };
    }

    /// A task's number; `next` makes one if it has none.
    ///
    /// # Safety
    /// The record lives, in memory of records.
    pub unsafe fn id_of(&self, task: *const Header, next: impl FnOnce() -> TaskId) -> TaskId {
        let mut ids = locked(&self.ids);
        // SAFETY: the caller.
        let marks = unsafe { &(*task).marks };
        // Relaxed, here and at the free, which comes after every use of the record: the table is under the lock.
        if marks.load(Relaxed) & Marks::NUMBERED == 0 {
            ids.insert(task.addr(), next());
            marks.fetch_or(Marks::NUMBERED, Relaxed);
        }
        ids[&task.addr()]
    }

    /// Forgets a task's name and number.
    #[cold]
    pub fn forget(&self, task: *const Header) {
        locked(&self.names).remove(&task.addr());
        locked(&self.ids).remove(&task.addr());
    }

    /// A task's name. `None` also if the table is in use and `wait` is false (in a signal handler).
    pub fn name_of(&self, task: *const Header, wait: bool) -> Option<Arc<str>> {
        let names = if wait { locked(&self.names) } else { self.names.try_lock().ok()? };
        names.get(&task.addr()).cloned()
    }
}
