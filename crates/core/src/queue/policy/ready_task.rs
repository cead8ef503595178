//! A task in the hands of a scheduler that the program wrote: a ticket for a place in the pool's
//! table.
//!
//! It can be moved and not copied, and dropping it gives the task back: so no scheduler loses a
//! task, or hands one out twice. (One that forgets a ticket, by `mem::forget`, keeps its task back:
//! the table has it yet, for a joiner or a shutdown.)

use super::table::Table;
use crate::record::task::Runnable;
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// What a task was given for its scheduler.
#[derive(Debug, Clone)]
pub(crate) struct PropertyValue {
    value: Arc<dyn Any + Send + Sync>,
    /// Has it a destructor, which is user code?
    pub(crate) drops: bool,
}

impl PropertyValue {
    pub(crate) fn new<P: Any + Send + Sync>(value: P) -> PropertyValue {
        PropertyValue { value: Arc::new(value), drops: std::mem::needs_drop::<P>() }
    }
}

/// A task that can run: see [`Scheduler`](super::scheduler::Scheduler).
///
/// It may be kept wherever the scheduler likes, sent to other threads, and dropped: then its task
/// is run all the same, in the order of such drops. One that is given to a worker of another pool
/// goes back to its own, as if it were dropped.
#[must_use = "the task is to be given to a worker"]
pub struct ReadyTask {
    table: &'static Table,
    ticket: Ticket,
    future: bool,
    property: Option<PropertyValue>,
}

/// A place in a table, and which of the tasks is meant that stand there one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) at: u32,
    pub(super) stamp: u32,
}

impl Ticket {
    /// For no task: stamps begin with 1.
    const NONE: Ticket = Ticket { at: 0, stamp: 0 };
}

impl ReadyTask {
    pub(super) fn new(table: &'static Table, ticket: Ticket, future: bool, property: Option<PropertyValue>) -> Self {
        ReadyTask { table, ticket, future, property }
    }

    /// Its property, if it has one of this type: what
    /// [`task::Builder::property`](crate::task::Builder::property) has given it, or
    /// [`JoinHandle::set_property`](crate::JoinHandle::set_property) since.
    ///
    /// # Examples
    /// ```
    /// use myriad::scheduler::{Cause, ReadyTask, Scheduler, Turn};
    /// use std::sync::Mutex;
    ///
    /// /// The task with the greatest number begins first.
    /// struct Greatest(Mutex<Vec<ReadyTask>>);
    ///
    /// impl Scheduler for Greatest {
    ///     fn enqueue(&self, task: ReadyTask, _: Cause) {
    ///         let mut tasks = self.0.lock().unwrap();
    ///         tasks.push(task);
    ///         tasks.sort_by_key(|task| task.property::<u32>().copied().unwrap_or(0));
    ///     }
    ///     fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
    ///         self.0.lock().unwrap().pop()
    ///     }
    /// }
    /// let rt = myriad::Builder::new().scheduler(|_| Greatest(Mutex::default())).build()?;
    /// let urgent = rt.run(|| myriad::task::Builder::new().property(7_u32).spawn(|| "urgent"));
    /// assert_eq!(urgent.join().unwrap(), "urgent");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn property<P: Any + Send + Sync>(&self) -> Option<&P> {
        self.property.as_ref()?.value.downcast_ref()
    }

    /// Is it a future's?
    pub fn is_future(&self) -> bool {
        self.future
    }

    /// Was its task taken otherwise: claimed by who joins it, filed anew because its property was
    /// changed, or dropped by a shutdown? Then this value means nothing any more.
    ///
    /// A scheduler need not ask, for stale tasks are passed over when they are picked. It is for
    /// those that count what they have, or throw stale ones away early.
    pub fn is_stale(&self) -> bool {
        !self.table.is_valid(self.ticket)
    }

    /// The task itself. `None`: it was taken otherwise, or is one of another pool.
    pub(crate) fn redeem(mut self, table: &Table) -> Option<Runnable> {
        if !std::ptr::eq(self.table, table) {
            return None;
        }
        table.redeem(std::mem::replace(&mut self.ticket, Ticket::NONE))
    }
}

impl Drop for ReadyTask {
    fn drop(&mut self) {
        if self.ticket != Ticket::NONE {
            self.table.give_back(self.ticket);
        }
    }
}

impl fmt::Debug for ReadyTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stale = self.is_stale();
        f.debug_struct("ReadyTask").field("future", &self.future).field("stale", &stale).finish_non_exhaustive()
    }
}
