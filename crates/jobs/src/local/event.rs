//! What happens to jobs, for who wants to be told.

use crate::machine::{Decision, JobId, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code;
use myriad_core::task::{self, TaskId};
use myriad_sync::channel::{BroadcastReceiver, BroadcastSender, broadcast};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// What has happened to a job. Examples: [`Local`](super::Local), and the stream
/// [`Queue::events`](super::Queue::events).
///
/// What happens in a job's own task comes in order: a start, [`Suspended`](Self::Suspended), the
/// end. What a call does to a job (submit, hold, release, edit, pause, cancel) is told by the
/// caller once it is done: the job may have begun meanwhile, and have said so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The queue has taken it.
    Submitted {
        /// The job.
        id: JobId,
    },
    /// It does not begin before it is released.
    Held {
        /// The job.
        id: JobId,
    },
    /// It may begin.
    Released {
        /// The job.
        id: JobId,
    },
    /// What it asks for has been [changed](super::Queue::edit).
    Edited {
        /// The job.
        id: JobId,
    },
    /// An attempt begins; the first has number 1.
    Started {
        /// The job.
        id: JobId,
        /// The attempt.
        attempt: u32,
    },
    /// It waits for another job of its queue, and has given back what it held.
    Suspended {
        /// The job.
        id: JobId,
    },
    /// The processes of its command stand still.
    Paused {
        /// The job.
        id: JobId,
    },
    /// It goes on, suspended or paused before.
    Resumed {
        /// The job.
        id: JobId,
    },
    /// It runs, and was told to stop: it was cancelled, or its wall time is over.
    Stopping {
        /// The job.
        id: JobId,
    },
    /// An attempt has failed, and another one comes at this time of the queue.
    Retrying {
        /// The job.
        id: JobId,
        /// Since the queue was made.
        at: Duration,
    },
    /// Its wall time is over, and it did not stop when it was told to.
    Overdue {
        /// The job.
        id: JobId,
    },
    /// It has ended.
    Ended {
        /// The job.
        id: JobId,
        /// How.
        state: State,
    },
}

impl Event {
    pub(super) fn of<P>(decision: &Decision<P>) -> Option<Event> {
        match decision {
            Decision::Again { id, at } => Some(Event::Retrying { id: *id, at: Duration::from_nanos(*at) }),
            Decision::Overdue { id } => Some(Event::Overdue { id: *id }),
            Decision::Ended { id, state, .. } => Some(Event::Ended { id: *id, state: *state }),
            Decision::Stop { id, .. } => Some(Event::Stopping { id: *id }),
            Decision::Resume { id } => Some(Event::Resumed { id: *id }),
            // (Of a start its task tells, when it begins.)
            Decision::Start { .. } => None,
        }
    }
}

pub(super) type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// Who is told. A panic in one is reported as a waker's would be, and is not the job's.
pub(super) struct Listeners {
    all: Vec<Listener>,
    /// Once anybody has asked for it.
    stream: OnceLock<BroadcastSender<Event>>,
    /// Is there anybody?
    is_there: AtomicBool,
    telling: Telling,
}

/// Who tells events just now, and what came of that in the same task: to be told after it, and not
/// on top of it, where a listener that cancels ten thousand jobs would have as many frames.
type Telling = Mutex<HashMap<Teller, VecDeque<Event>>>;

/// A task, or a thread that is none.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Teller {
    Task(TaskId),
    Thread(ThreadId),
}

impl Teller {
    fn here() -> Teller {
        match task::current() {
            Some(task) => Teller::Task(task.id()),
            None => Teller::Thread(thread::current().id()),
        }
    }
}

/// So many events a stream keeps.
const STREAM: usize = 4096;

impl Listeners {
    pub(super) fn new(all: Vec<Listener>) -> Listeners {
        let is_there = AtomicBool::new(!all.is_empty());
        Listeners { all, stream: OnceLock::new(), is_there, telling: Telling::default() }
    }
    /// A hint: who begins to listen hears of what happens after that.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.is_there.load(Relaxed)
    }
    /// What is told from now on.
    pub(super) fn stream(&self) -> BroadcastReceiver<Event> {
        let receiver = self.stream.get_or_init(|| broadcast(STREAM).0).subscribe();
        self.is_there.store(true, Relaxed);
        receiver
    }
    /// Tells them. Within a listener, when that one has returned.
    pub(super) fn tell(&self, events: impl IntoIterator<Item = Event>) {
        if self.is_empty() {
            return;
        }
        let (here, mut next) = (Teller::here(), events.into_iter().collect::<VecDeque<_>>());
        if let Some(later) = self.telling.lock().get_mut(&here) {
            return later.extend(next);
        }
        while !next.is_empty() {
            self.telling.lock().insert(here, VecDeque::new());
            for event in next {
                for listener in &self.all {
                    // (It does not unwind.)
                    user_code::run("a listener of jobs", || listener(&event));
                }
                // (It is never closed: this is its only sender.)
                self.stream.get().into_iter().for_each(|stream| _ = stream.send(event));
            }
            next = self.telling.lock().remove(&here).unwrap_or_default();
        }
    }
}
