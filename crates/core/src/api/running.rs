//! The task that is under way here, for who has to know it again, or to cancel it while it runs on.

use crate::record::header::{Header, TaskFlags};
use crate::record::task::TaskRef;
use crate::record::watch::Watched;
pub use crate::record::watch::Watcher;
use crate::sched::cancel::request;
use crate::sched::pool::{Handle, ShutdownDelay};
use crate::sched::{borrower, worker};

/// A task that was under way where this was made. A copy of an address: it keeps nothing alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay(*mut Header);

// SAFETY: an address, followed only in `mark`, whose caller vouches for the task.
unsafe impl Send for UnderWay {}
// SAFETY: nothing can be done with `&UnderWay` but to copy it.
unsafe impl Sync for UnderWay {}

impl UnderWay {
    /// What runs here: the task, or what runs on top of it with a record of its own (the second
    /// closure of a `join`). On a thread that no task has, something that is equal there only.
    #[inline(always)]
    pub fn here() -> UnderWay {
        UnderWay(match worker::current() {
            Some(w) => w.running_record().cast_mut(),
            None => borrower::me(),
        })
    }

    /// A number that no other task has which is under way now.
    #[inline(always)]
    pub fn number(self) -> usize {
        self.0.addr()
    }

    /// Marks the task as cancelled, for good. `None` if it was marked before. Takes no lock, and
    /// wakes nobody: that is for [`ToTell::tell`].
    ///
    /// # Safety
    /// The task has a record of its own, on a worker (it is what was spawned), and does not end
    /// before this returns.
    pub unsafe fn mark(self) -> Option<ToTell> {
        // SAFETY: the record is the task's, which has not ended (this function's contract).
        request::mark(unsafe { TaskRef::from_raw(self.0) }).map(ToTell)
    }
}

/// Would a task that is spawned now have nothing more, and nothing less, than the calling one? So a
/// second thing may run in it. The calling task has no task-locals, scoped values or generator of
/// its own, no name or number that somebody knows, and no mark of a cancellation.
#[inline]
pub fn is_as_new() -> bool {
    // (Where its record was found says nothing of the task.)
    let is_unmarked = |task: TaskRef<'_>| !task.has_flags(!TaskFlags::STOLEN);
    worker::current().is_some_and(|w| !w.running.has_context() && w.task().is_some_and(is_unmarked))
}

/// May a piece of this pool's work be called right here, on top of what runs? Only on a worker of
/// that pool, with stack enough, and not while a panic unwinds: the rule by which a join calls its
/// task in place.
#[inline]
pub fn has_room(pool: Handle) -> bool {
    worker::current().is_some_and(|w| pool.has(&w) && w.has_room()) && !std::thread::panicking()
}

/// The runtime of the calling task does not stop as long as this is held. `None`: it is about to.
pub fn delay_shutdown() -> Option<ShutdownDelay> {
    worker::current().map_or(Some(ShutdownDelay::NONE), |w| w.pool.delays.begin())
}

/// Calls `f`; if the calling task is blocked in it when its runtime ends, and so never goes on,
/// `watcher` is told.
///
/// # Safety
/// The caller is the closure that the task was spawned with, of no scope, in no other call of this.
#[inline(always)]
pub unsafe fn watched<R>(watcher: &impl Watcher, f: impl FnOnce() -> R) -> R {
    // SAFETY: the task runs the closure that it was spawned with, of no scope (this function's
    // contract): so its record is of the heap, and the closure ends after this call.
    let _watched = worker::current().map(|w| unsafe { Watched::new(w.running_record().cast_mut(), watcher) });
    f()
}

/// A task that was marked, and is to be told.
#[must_use = "the task may be blocked, and does not look at its mark by itself"]
pub struct ToTell(request::Marked);

impl ToTell {
    /// Makes the task look at its mark, wherever it is; also if it has ended meanwhile.
    pub fn tell(self) {
        self.0.tell();
    }
}

impl std::fmt::Debug for ToTell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToTell").finish_non_exhaustive()
    }
}
