//! What all tasks do at a moment: [`dump`] as data; as text by `Display` (`text`); as JSON
//! (`json`).
//!
//! A dump stops nobody. Each task is looked at for itself (`queue::look`), in the memory of
//! records, which is never anything else: no list of tasks is kept for it, so a task that is never
//! dumped costs nothing more. What was read of a record that became another task's meanwhile is
//! read again. So each entry was true at some moment of the dump, and two entries need not have
//! been so at the same one.
//!
//! **Rejected.** A list of all tasks: two stores to cold lines for each spawn and each end.
//! Stopping the workers: one that is stuck does not stop.

mod collect;
mod json;
pub(crate) mod signal;
mod text;
mod timed_out;
mod why;

use crate::queue::made::Made;
use crate::queue::reason::WaitReason;
use crate::sched::pool::TaskId;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

pub use collect::dump;
use collect::mark_waits;
pub(super) use text::{count, describe, doing};
pub use timed_out::{TimedOut, why_timed_out};
pub use why::WhyWaiting;

/// What the tasks, workers and waiting threads of a process do. Example: [`dump()`](dump).
///
/// Its `Display` is for people: alike tasks in one line, at most 40 lines, 80 columns wide unless a
/// place is longer. [`to_json`](Dump::to_json) is for programs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Dump {
    pub(super) took: Duration,
    pub(super) pools: Vec<PoolState>,
    pub(super) tasks: Vec<TaskState>,
    pub(super) threads: Vec<ThreadState>,
    pub(super) calls: Vec<CallThreads>,
}

impl Dump {
    /// How long it took.
    pub fn took(&self) -> Duration {
        self.took
    }
    /// The pools of all runtimes.
    pub fn pools(&self) -> &[PoolState] {
        &self.pools
    }
    /// All tasks that have not ended. Second closures of [`join`](crate::join()) count as part of
    /// their callers: one that another worker has taken is not listed, and its caller waits for a
    /// task that is not in the list.
    pub fn tasks(&self) -> &[TaskState] {
        &self.tasks
    }
    /// Threads outside of all runtimes that sleep in a wait of this library.
    pub fn threads(&self) -> &[ThreadState] {
        &self.threads
    }
    /// Threads for [`blocking`](crate::blocking()) and [`compute`](crate::compute()).
    pub fn calls(&self) -> &[CallThreads] {
        &self.calls
    }
    /// The task for whose end this one waits, if that is what it waits for.
    ///
    /// Looks through all tasks.
    pub fn joined_by(&self, task: &TaskState) -> Option<&TaskState> {
        let record = task.joins()?;
        self.tasks.iter().find(|other| other.record == record)
    }
}

/// A task in a [`Dump`].
#[derive(Debug, Clone)]
pub struct TaskState {
    pub(super) location: &'static Location<'static>,
    pub(super) words: Option<Box<Words>>,
    pub(super) id: Option<TaskId>,
    pub(super) record: usize,
    pub(super) object: usize,
    /// The address of its scope, if somebody waits for that; else 0.
    pub(super) scope: usize,
    /// In hundredths of a second.
    pub(super) since: u32,
    pub(super) pool: u8,
    pub(super) is_future: bool,
    pub(super) activity: Activity,
    pub(super) reason: Option<WaitReason>,
}

/// What most tasks have none of: so a million of them take less memory.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    pub(super) name: Option<Arc<str>>,
    pub(super) socket: Option<String>,
    pub(super) made: Option<Made>,
}

impl Made {
    fn other_ends(&self, reason: WaitReason) -> Option<usize> {
        let (send, receive) = self.ends?;
        match reason {
            WaitReason::Recv => Some(send),
            WaitReason::Send => Some(receive),
            _ => None,
        }
    }
}

/// What a task does, in a [`Dump`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Activity {
    /// It waits. One that was woken and has not gone on yet counts as waiting.
    Waits,
    /// It runs, or another task runs on top of it.
    Runs,
    /// It is queued: to begin, or to be polled once more; or it has yielded.
    Queued,
    /// It has a thread of its own, which runs or waits: see [`Dump::threads`].
    Dedicated,
}

impl TaskState {
    /// Its number, if somebody has asked for that before.
    pub fn id(&self) -> Option<TaskId> {
        self.id
    }
    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.words.as_ref()?.name.as_deref()
    }
    /// Where it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.location
    }
    /// Is it a future?
    pub fn is_future(&self) -> bool {
        self.is_future
    }
    /// What it does.
    pub fn activity(&self) -> Activity {
        self.activity
    }
    /// What it waits for. Of a future, which may wait for several things, the last one that it has
    /// begun to wait for, where that is one of Myriad's: a time only if there is nothing else.
    ///
    /// `None` if it does not wait; of a future that waits for something of others, or has values of
    /// its own, as those of `task_local!`; and where the task goes on and waits again faster
    /// than one can look.
    pub fn waits_for(&self) -> Option<WaitReason> {
        self.reason
    }
    /// A number for the channel, lock, task or scope that it waits for, by which tasks that wait
    /// for the same are known: its address. `None` where that is not known, as in a select.
    pub fn object(&self) -> Option<usize> {
        (self.object != 0).then_some(self.object)
    }
    /// A number for the scope that it was spawned in, if somebody waits for the end of that scope's
    /// tasks: the [object](Self::object) of that wait. (Not known of large closures, which stand
    /// in a box.)
    pub fn scope(&self) -> Option<usize> {
        (self.scope != 0).then_some(self.scope)
    }
    /// The address of the socket that it waits for: that of the peer, or else the socket's own;
    /// `None` if it waits for something else, or the socket has none, as a pipe.
    pub fn socket(&self) -> Option<&str> {
        self.words.as_ref()?.socket.as_deref()
    }
    /// Where the channel (promise, watch, broadcast) was made that it waits for; where the node of
    /// a dataflow was spawned; where the [`join`](crate::join()) is for whose second closure it
    /// waits.
    ///
    /// The last is always known; the others in debug builds, and where `MYRIAD_DUMP=1` or
    /// [`Builder::dump_on_signal`](crate::Builder::dump_on_signal) asks for dumps: of what was made
    /// since the first runtime that did. A channel costs a lock and 40 bytes then.
    pub fn made_at(&self) -> Option<&'static Location<'static>> {
        Some(self.made()?.location)
    }
    /// How many ends the channel that it waits for has on the other side: those that could send
    /// what it waits for, or receive. Known as [`made_at`](Self::made_at) is.
    pub fn other_ends(&self) -> Option<usize> {
        self.made()?.other_ends(self.reason?)
    }
    /// For how long it has been in this same wait, at least: since the first look that has found it
    /// there. A dump is a look. Where `MYRIAD_DUMP=1` or
    /// [`Builder::dump_on_signal`](crate::Builder::dump_on_signal) asks for dumps there is a look
    /// each tenth of a second besides, as long as a worker is awake. (With very many tasks they are
    /// rarer, and take a fiftieth of a processor.) Elsewhere this is 0 in the first dump, and while
    /// another task runs on top of this one, whose end it waits for.
    pub fn waits_since(&self) -> Duration {
        Duration::from_millis(10 * u64::from(self.since))
    }
    /// The index of its pool in [`Dump::pools`].
    pub fn pool(&self) -> usize {
        self.pool.into()
    }

    fn made(&self) -> Option<&Made> {
        self.words.as_ref()?.made.as_ref()
    }

    pub(super) fn joins(&self) -> Option<usize> {
        (self.reason == Some(WaitReason::Join)).then_some(self.object)
    }

    /// The scope for whose tasks it waits.
    pub(super) fn ends_scope(&self) -> Option<usize> {
        (self.reason == Some(WaitReason::Scope)).then_some(self.object)
    }
}

/// A pool of a runtime in a [`Dump`].
#[derive(Debug, Clone)]
pub struct PoolState {
    pub(super) runtime: String,
    pub(super) name: Arc<str>,
    pub(super) fibers: bool,
    pub(super) workers: Vec<WorkerState>,
    pub(super) ended: usize,
}

impl PoolState {
    /// The runtime's name, with which its threads' names begin.
    pub fn runtime(&self) -> &str {
        &self.runtime
    }
    /// The pool's: `default` for the main workers.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Does it block with fibers (true) or with threads?
    pub fn is_fiber_mode(&self) -> bool {
        self.fibers
    }
    /// Its workers, with the spares that were ever needed.
    pub fn workers(&self) -> &[WorkerState] {
        &self.workers
    }
    /// How many tasks have ended whose results nobody has taken yet.
    pub fn ended(&self) -> usize {
        self.ended
    }
}

/// A worker in a [`Dump`].
#[derive(Debug, Clone)]
pub struct WorkerState {
    pub(super) spare: bool,
    pub(super) doing: Doing,
    pub(super) name: Option<Arc<str>>,
    pub(super) location: Option<&'static Location<'static>>,
    pub(super) timer: Option<Duration>,
}

/// What a worker does, in a [`Dump`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Doing {
    /// It has nothing to do, and sleeps.
    Sleeps,
    /// A spare that is not needed.
    Rests,
    /// It runs a task, or looks for one.
    Works,
    /// It has been in one task for more than 10 ms.
    Stuck,
}

impl WorkerState {
    /// Is it a spare one?
    pub fn is_spare(&self) -> bool {
        self.spare
    }
    /// What it does.
    pub fn doing(&self) -> Doing {
        self.doing
    }
    /// The place of the spawn of the task that it runs; `None` also while it runs the second
    /// closure of a `join`.
    pub fn task_spawned_at(&self) -> Option<&'static Location<'static>> {
        self.location
    }
    /// The name of that task, if it has one.
    pub fn task_name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// When its timers are looked at next, from the dump on; `None`: it has none.
    pub fn next_timer(&self) -> Option<Duration> {
        self.timer
    }
}

/// A thread outside of all runtimes, in a [`Dump`].
#[derive(Debug, Clone)]
pub struct ThreadState {
    pub(super) name: Option<String>,
    pub(super) reason: WaitReason,
    pub(super) object: usize,
    pub(super) made: Option<Made>,
    pub(super) timed: bool,
}

impl ThreadState {
    /// Its name.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// What it waits for.
    pub fn waits_for(&self) -> WaitReason {
        self.reason
    }
    /// As [`TaskState::object`].
    pub fn object(&self) -> Option<usize> {
        (self.object != 0).then_some(self.object)
    }
    /// As [`TaskState::made_at`].
    pub fn made_at(&self) -> Option<&'static Location<'static>> {
        Some(self.made?.location)
    }
    /// As [`TaskState::other_ends`].
    pub fn other_ends(&self) -> Option<usize> {
        self.made?.other_ends(self.reason)
    }
    /// Has its wait a time limit?
    pub fn has_limit(&self) -> bool {
        self.timed
    }
}

/// Threads for calls that hold up their thread, in a [`Dump`].
#[derive(Debug, Clone)]
pub struct CallThreads {
    pub(super) name: &'static str,
    pub(super) threads: usize,
    pub(super) idle: usize,
    pub(super) queued: usize,
}

impl CallThreads {
    /// What the threads are called.
    pub fn name(&self) -> &str {
        self.name
    }
    /// How many there are.
    pub fn threads(&self) -> usize {
        self.threads
    }
    /// How many of them have nothing to do.
    pub fn idle(&self) -> usize {
        self.idle
    }
    /// How many calls wait for a thread.
    pub fn queued(&self) -> usize {
        self.queued
    }
}
