//! The handle of a task: joining, awaiting, detaching.
//!
//! Who has claimed the result of a task, and who drops that, is one protocol, of which each file
//! below `handle/` is a part.

mod detach;
mod join;
mod poll;
mod result;
mod wait;

pub(crate) use wait::{JoinWait, wait_done};

use super::id::TaskId;
use crate::record::held::HeldTask;
use crate::record::task::TaskRef;
use crate::runtime::dump::WhyWaiting;
use crate::sched::cancel::request;
use crate::sched::pool::Pool;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// The right to a task's result. Dropping it detaches the task: it runs on, and its result is
/// dropped.
///
/// If the task has ended its result is dropped right here. A result may hold the handle of another
/// task that has ended, and so on: where the stack has little room left, a task of the same pool
/// drops the rest, and a thread for blocking calls that of a foreign thread. (Handles of a scope's
/// tasks are dropped within each other, as deep as they are.)
///
/// Also a future of the same `Result`. May be sent to, and joined from, any task or thread.
///
/// # Examples
/// ```
/// let h = myriad::spawn(|| 6 * 7);
/// assert_eq!(h.join().unwrap(), 42);                        // a call that waits
/// let h = myriad::spawn(|| 6 * 7);
/// assert_eq!(myriad::block_on(async { h.await.unwrap() }), 42); // or a future
/// drop(myriad::spawn(|| println!("on its own")));           // detached
/// ```
pub struct JoinHandle<T> {
    /// `None` once the result was taken.
    task: Option<HeldTask<T>>,
}

// SAFETY: a handle is the right to take a `T` out of the record, once; all shared words of the
// record are atomic.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: `&JoinHandle` only looks at atomic words and at the immutable place and name.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// The handle of a task.
    #[inline(always)]
    pub(crate) fn new(task: HeldTask<T>) -> JoinHandle<T> {
        JoinHandle { task: Some(task) }
    }

    /// The task.
    #[inline(always)]
    #[track_caller]
    pub(super) fn task_ref(&self) -> TaskRef<'_> {
        self.task.as_ref().expect(TAKEN).task_ref()
    }

    /// The handle itself, from behind a reference; what stays is empty.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> JoinHandle<T> {
        JoinHandle { task: self.task.take() }
    }

    /// Cancels the task: it ends at its next blocking point, by unwinding, or never begins. See
    /// [`cancel`](crate::cancel).
    ///
    /// Nothing happens if it has ended. To join it afterwards brings an error that
    /// [is a cancellation](crate::JoinError::is_cancelled), or its result, if it was faster.
    ///
    /// # Blocking
    /// Never blocks; it does not wait for the task.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let h = myriad::spawn(|| myriad::time::sleep(Duration::from_secs(3600)));
    /// h.cancel();
    /// assert!(h.join().unwrap_err().is_cancelled());
    /// ```
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        if let Some(task) = &self.task
            && !self.is_finished()
        {
            request::cancel(task.task_ref());
        }
    }

    /// Why the task has not ended: what it waits for; if that is a task, what that one waits for,
    /// and so on. `None` if it has ended.
    ///
    /// For messages: after [`join_timeout`](Self::join_timeout), which gives the handle back. Says
    /// what was so at a moment.
    ///
    /// # Blocking
    /// As [`dump`](crate::dump()), whose price this has.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let (_tx, rx) = myriad::channel::unbounded::<u32>();
    /// let reader = myriad::task::Builder::new().name("reader").spawn(move || rx.recv());
    /// let late = reader.join_timeout(Duration::from_millis(200)).unwrap_err();
    /// let why = late.why_waiting().unwrap().to_string();
    /// assert!(why.starts_with("task 'reader'") && why.contains(" waits for a message"), "{why}");
    /// ```
    #[track_caller]
    pub fn why_waiting(&self) -> Option<WhyWaiting> {
        if self.is_finished() { None } else { WhyWaiting::of(self.task_ref().as_ptr().addr()) }
    }

    /// Has the task ended? Never blocks.
    pub fn is_finished(&self) -> bool {
        self.task.as_ref().is_none_or(|task| task.task_ref().is_done())
    }

    /// Where the task was spawned.
    #[track_caller]
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.task_ref().location()
    }

    /// The task's number. The task itself learns it from [`task::current`](super::current).
    #[track_caller]
    pub fn id(&self) -> TaskId {
        TaskId::of(&self.task_ref())
    }

    /// The task's name, if it was given one.
    #[track_caller]
    pub fn name(&self) -> Option<Arc<str>> {
        let task = self.task_ref();
        Pool::of_task(task).name_of(task.as_ptr(), true)
    }
}

const TAKEN: &str = "the handle's result was taken already";

const TOO_EARLY: &str = "a join was woken before its task has ended (a bug in Myriad)";

impl<T> JoinHandle<T> {
    /// For `Debug`, under this name. (No name and no number of the task: those are under a lock.)
    pub(super) fn show(&self, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct(what);
        match self.task.is_some() {
            true => {
                s.field("spawned_at", &format_args!("{}", self.spawned_at())).field("finished", &self.is_finished())
            }
            false => s.field("taken", &true),
        };
        s.finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show("JoinHandle", f)
    }
}
