//! Who a task is: its number, name and place.
//!
//! Most tasks are never asked for their number, so none is given out before: it stands in a table
//! of the runtime, as names do, and a flag in the record says so. (A field would make each record,
//! and each spawn, dearer.) A task whose record is in a frame, such as the second closure of
//! `join`, has no handle; its number stands in its context.
//!
//! **Owners of locks** are known by a number in their context, whatever they are: a task, a foreign
//! thread, the second side of a `join` ([`owner`]). A record's address will not do: it is used
//! again when its task has ended, and an owner that has leaked its guard must never be taken for
//! another task. The context goes with the task, to other stacks and to threads for blocking calls,
//! so the number does, and a switch has nothing to save for it.

use crate::record::current::CurrentTask;
use crate::record::header::{Kind, TaskFlags};
use crate::sched::pool::Pool;
pub use crate::sched::pool::TaskId;
use crate::sched::pool::number_in;
use crate::sched::{borrower, context, worker};
use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU64;
use std::panic::Location;
use std::sync::Arc;

thread_local! {
    /// That of a thread's own context, for when it is gone: destructors at the thread's end may
    /// still unlock.
    static OF_THREAD: Cell<u64> = const { Cell::new(0) };
}

/// What [`current`] says about a task.
#[derive(Debug, Clone)]
pub struct Task {
    id: TaskId,
    name: Option<Arc<str>>,
    location: &'static Location<'static>,
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
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.location
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "task '{name}' ({}) spawned at {}", self.id, self.location),
            None => write!(f, "task {} spawned at {}", self.id, self.location),
        }
    }
}

/// The calling task; `None` where no task runs, as on a foreign thread.
///
/// The second closure of [`join`](crate::join) is a task of its own, without a name. (Its place is
/// that of the call; or, if it runs as part of its caller and is the first on its worker to ask,
/// the caller's.)
///
/// Costs a lock and a table; not for inner loops.
///
/// # Examples
/// ```
/// use myriad::task::current;
/// let h = myriad::spawn(|| current().unwrap().id());
/// let id = h.id();
/// assert_eq!(h.join().unwrap(), id);
/// assert!(current().is_none());
/// ```
pub fn current() -> Option<Task> {
    let record = match worker::current() {
        Some(w) if w.running.get() == CurrentTask::NOTHING => return None,
        Some(w) => w.running_record(),
        None => borrower::me().cast_const(),
    };
    if record.is_null() {
        return None;
    }
    // SAFETY: the record is that of the running task, or of this thread's own; kind, place and
    // runtime do not change.
    unsafe {
        let (kind, location) = ((*record).kind(), (*record).location());
        // With or without a record of its own: what runs on top of another task has its context, or
        // gets one here.
        let nested = kind.has(Kind::ON_STACK);
        let id = if nested { number_in_context() } else { TaskId::of(&*record) };
        let named = (*record).has_flags(TaskFlags::NAMED);
        let name = if named { Pool::of((*record).runtime()).name_of(record, true) } else { None };
        Some(Task { id, name, location })
    }
}

fn number_in_context() -> TaskId {
    // SAFETY: a task runs (its record was found before), so the context is not null, and stands
    // while the task runs.
    unsafe { number_in((*context::find_or_make()).number()) }
}

/// A number for the calling task or foreign thread that nobody else has, ever: for locks that know
/// their owner. (Not that of [`current`].)
///
/// Of the sides of `join(a, b)` the first has its caller's, the second its own, wherever they run;
/// a future has one over all its polls; a task that goes on on another stack, or makes a blocking
/// call, keeps its own there.
///
/// The first question of a task takes some 50 ns, the next ones 3.
pub fn owner() -> NonZeroU64 {
    if cfg!(loom) {
        // All threads of a model run on one: each asks as somebody else.
        return TaskId::next().0;
    }
    let context = context::find_or_make();
    if context.is_null() {
        return OF_THREAD.with(number_in).0;
    }
    // SAFETY: it is not null (checked above), so it is the context of what calls, which stands
    // while that runs.
    let number = number_in(unsafe { &*context }.number()).0;
    if worker::current().is_none() {
        OF_THREAD.set(number.get());
    }
    number
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::owner;

    #[test]
    fn each_owner_has_its_own_number() {
        let here = owner();
        assert_eq!(here, owner());
        assert_ne!(here, std::thread::spawn(owner).join().unwrap());
        let (outer, inner, again) = crate::run(|| (owner(), crate::spawn(owner).join().unwrap(), owner()));
        assert_ne!(outer, inner);
        assert_eq!(outer, again);
        assert_ne!(outer, here);
    }

    /// What a thread locks it can unlock while its thread-locals go.
    #[test]
    fn a_thread_that_ends_is_still_itself() {
        struct Last(std::cell::Cell<u64>);
        impl Drop for Last {
            fn drop(&mut self) {
                assert_eq!(owner().get(), self.0.get());
            }
        }
        // Registered first, so dropped last, after the context.
        thread_local!(static LAST: Last = const { Last(std::cell::Cell::new(0)) });
        std::thread::spawn(|| LAST.with(|last| last.0.set(owner().get()))).join().unwrap();
    }
}
