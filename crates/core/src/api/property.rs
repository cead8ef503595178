//! Properties of tasks, for a scheduler of the program's own: changed while the task exists.
//!
//! They are given at the spawn, by [`Builder::property`](crate::task::Builder::property). The pool
//! keeps them ([`crate::queue::policy::table`]), by the address of the record.

use super::handle::JoinHandle;
use crate::queue::policy::ready_task::PropertyValue;
use crate::record::header::{Header, Kind, TaskFlags};
use crate::sched::pool::{Handle, Pool};
use crate::sched::{unwind, worker};
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::any::Any;

/// Gives a task of this pool a property for the pool's scheduler, or another one: false if there is
/// no such scheduler. Drops the one that it had, so user code may run.
pub(super) fn set(pool: &Pool, task: &Header, value: PropertyValue) -> bool {
    let Some(table) = pool.workers.table() else {
        unwind::drop_quietly(value);
        return false;
    };
    // First: who frees the record looks into the table if this is set. Relaxed: who sets it has the
    // task, or its handle, so the record is freed afterwards.
    task.flags().fetch_or(TaskFlags::NAMED, Relaxed);
    let (before, filed_anew) = table.set_property(task, value);
    if filed_anew {
        pool.workers.scheduler_changed();
    }
    unwind::drop_quietly(before);
    true
}

impl<T> JoinHandle<T> {
    /// Gives the task another property, or its first one: see
    /// [`task::Builder::property`](crate::task::Builder::property). If it is queued it comes to the
    /// scheduler anew, with [`Cause::Changed`](crate::scheduler::Cause::Changed); if it runs or
    /// waits, the property counts when it is queued the next time. False: its pool has no scheduler
    /// of its own.
    ///
    /// Drops the property that it had, if nobody looks at that. Takes a lock for some nanoseconds.
    ///
    /// # Examples
    /// ```
    /// # use myriad::scheduler::{Cause, ReadyTask, Scheduler, Turn};
    /// # #[derive(Default)]
    /// # struct Last(std::sync::Mutex<Vec<ReadyTask>>);
    /// # impl Scheduler for Last {
    /// #     fn enqueue(&self, task: ReadyTask, _: Cause) { self.0.lock().unwrap().push(task) }
    /// #     fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
    /// #         let mut tasks = self.0.lock().unwrap();
    /// #         tasks.sort_by_key(|task| task.property().copied().unwrap_or(0u32));
    /// #         tasks.pop()
    /// #     }
    /// # }
    /// // (With a scheduler that picks the highest number.)
    /// let rt = myriad::Builder::new().workers(1).spare_workers(0).scheduler(|_| Last::default()).build()?;
    /// let (order, ended) = std::sync::mpsc::channel();
    /// rt.run(move || {
    ///     let [low, _high] = [1, 2].map(|number| {
    ///         let order = order.clone();
    ///         myriad::task::Builder::new().property(number as u32).spawn(move || order.send(number))
    ///     });
    ///     assert!(low.set_property(3u32));
    /// });
    /// assert_eq!(ended.iter().collect::<Vec<_>>(), [1, 2]);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn set_property<P: Any + Send + Sync>(&self, property: P) -> bool {
        let task = self.task_ref();
        set(Pool::of_task(task), task.header(), PropertyValue::new(property))
    }
}

/// Gives the calling task another property, as [`JoinHandle::set_property`] does: for a future that
/// is to be filed otherwise when it is woken the next time. False: the caller is no task that was
/// spawned (but, say, a side of a `join`), or its pool has no scheduler of its own.
///
/// # Examples
/// ```
/// // No task, or a pool with one of Myriad's own policies.
/// assert!(!myriad::scheduler::set_property(7u32));
/// assert!(!myriad::run(|| myriad::scheduler::set_property(7u32)));
/// ```
pub fn set_property<P: Any + Send + Sync>(property: P) -> bool {
    let Some(w) = worker::current() else { return false };
    let task = w.running_record();
    if task.is_null() {
        return false;
    }
    // SAFETY: the record of the running task, which is the caller, lives.
    let task = unsafe { &*task };
    !task.kind().has(Kind::ON_STACK) && set(w.pool, task, PropertyValue::new(property))
}

impl Handle {
    /// Has the workers of this pool ask its [`Scheduler`](crate::scheduler::Scheduler) once more:
    /// for one that keeps tasks back, when it would give one out now. Does nothing under another
    /// policy, and when the runtime has ended.
    ///
    /// For any thread; takes a lock for some nanoseconds, and wakes one worker if any sleeps.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).build()?;
    /// rt.handle().notify_scheduler();
    /// # std::io::Result::Ok(())
    /// ```
    pub fn notify_scheduler(&self) {
        let workers = &self.inner().workers;
        if let Some(table) = workers.table() {
            table.changed();
            workers.scheduler_changed();
        }
    }
}
