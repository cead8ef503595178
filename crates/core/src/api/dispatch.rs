//! Entering a task at once, in place of the caller.

use super::builder::Builder;
use super::handle::JoinHandle;
use super::portable::Portable;
use super::spawn;
use crate::record::header::Kind;
use crate::sched::pool::Handle;
use crate::sched::worker::{self, Role};
use std::panic::Location;

/// Starts a task that runs `f`, and begins it *at once*: the caller is set aside, and goes on
/// behind all tasks that are ready; any of them, and the new one as long as it does not block, run
/// first. ([`spawn`](crate::spawn) queues the new task, and goes on.)
///
/// Where each task enters the next one, every hundredth or so waits until all that are ready, and
/// one that is queued, have had a turn.
///
/// For a task whose data is warm now, or that has to have done its first step when the caller goes
/// on. What it costs is a switch, as of a [`yield_now`](crate::yield_now).
///
/// A foreign thread, a task of another runtime or pool, and a destructor that runs because of a
/// panic cannot be set aside for it: there, and where there is no memory for a stack, this is
/// `spawn`.
///
/// # Blocking
/// The caller waits for its turn, as in `yield_now`; other workers do not take it (in fiber mode it
/// stays with its worker). In a future the task is entered on another stack, and the poll goes on
/// afterwards.
///
/// # Cancellation
/// A caller that is cancelled meanwhile unwinds when it goes on; the new task runs on, detached.
///
/// # Panics
/// As [`spawn`](crate::spawn).
///
/// *Source.* Boost.Fiber's `launch::dispatch`; `spawn` is its `launch::post`.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
/// static BEGUN: AtomicBool = AtomicBool::new(false);
/// let rt = myriad::Builder::new().workers(1).build()?;
/// rt.run(|| {
///     let h = myriad::task::dispatch(|| BEGUN.swap(true, Ordering::Relaxed));
///     assert!(BEGUN.load(Ordering::Relaxed), "it has run before this line");
///     assert_eq!(h.join().unwrap(), false);
/// });
/// # std::io::Result::Ok(())
/// ```
#[track_caller]
pub fn dispatch<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().dispatch(f)
}

/// What [`JoinHandle::yield_to`] has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YieldedTo {
    /// The task had not begun, and was entered at once.
    Entered,
    /// It has begun already, or is not within reach: all ready tasks of this worker have run first,
    /// also this one, if it was among them.
    Yielded,
    /// It has ended.
    Ended,
}

impl<T> JoinHandle<T> {
    /// Lets this task run before the caller goes on, if it can.
    ///
    /// If it has not begun and stands in a queue of this worker (or of the runtime, under a policy
    /// with queues in common) it is entered at once, before all others, as by [`dispatch`]. Else
    /// the caller yields to all that are ready on this worker: a task that has begun goes on in the
    /// order of wakes, out of which nobody is taken; one that waits for something cannot go on; and
    /// what another worker has, it runs itself. A future's task is polled in its turn.
    ///
    /// # Blocking
    /// As [`dispatch`]. A foreign thread yields its processor.
    ///
    /// # Cancellation
    /// A caller that is cancelled meanwhile unwinds when it goes on.
    ///
    /// *Source.* Julia's `yieldto`, but for its error where the task cannot run.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::YieldedTo;
    /// // Without spares nobody else begins what a worker has, however long the system keeps it from running.
    /// let rt = myriad::Builder::new().workers(1).spare_workers(0).build()?;
    /// let (order, ended) = std::sync::mpsc::channel();
    /// let also = order.clone();
    /// rt.run(|| {
    ///     let first = myriad::spawn(move || order.send("first"));
    ///     let second = myriad::spawn(move || also.send("second"));
    ///     assert_eq!(second.yield_to(), YieldedTo::Entered);
    ///     first.join().unwrap().unwrap();
    /// });
    /// assert_eq!(ended.iter().collect::<Vec<_>>(), ["second", "first"]);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn yield_to(&self) -> YieldedTo {
        if self.is_finished() {
            return YieldedTo::Ended;
        }
        if let Some(w) = worker::current().and_then(Role::may_enter)
            && let Some(task) = w.claim(self.task_ref())
        {
            _ = w.enter(task.into());
            return YieldedTo::Entered;
        }
        crate::api::run::yield_now();
        YieldedTo::Yielded
    }
}

/// As [`spawn::spawn_into`], and enters the task if the caller is one of this pool's.
pub(super) fn dispatch_into<F: FnOnce() -> T, T>(
    home: Handle,
    f: Portable<F>,
    location: &'static Location<'static>,
    with: Builder,
) -> JoinHandle<T> {
    let placed = with.worker().is_some();
    let w = worker::current().filter(|w| !placed && home.has(w)).and_then(Role::may_enter);
    let Some(w) = w else { return spawn::spawn_into(home, f, location, with, Kind::CLOSURE) };
    let task = with.equip(Some(&w), w.pool, spawn::create(f, Kind::CLOSURE, w.pool.number, location));
    let (task, held) = task.into_parts();
    // Before it is entered: what cancels the caller drops the handle.
    let handle = JoinHandle::new(held);
    _ = w.enter(task.into());
    handle
}
