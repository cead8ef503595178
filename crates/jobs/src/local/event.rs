//! What happens to jobs, for who wants to be told.

use crate::machine::{Decision, JobId, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::user_code;
use myriad_core::task::{self, TaskId};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::thread::{self, ThreadId};
use std::time::Duration;

/// What has happened to a job. Example: [`Local`](super::Local).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An attempt begins; the first has number 1.
    Started {
        /// The job.
        id: JobId,
        /// The attempt.
        attempt: u32,
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
            // (Of a start its task tells, when it begins.)
            Decision::Start { .. } | Decision::Stop { .. } | Decision::Resume { .. } => None,
        }
    }
}

type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// Who is told. A panic in one is reported as a waker's would be, and is not the job's.
#[derive(Clone, Default)]
pub(super) struct Listeners {
    all: Vec<Listener>,
    telling: Arc<Telling>,
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

impl Listeners {
    pub(super) fn add(&mut self, f: impl Fn(&Event) + Send + Sync + 'static) {
        self.all.push(Arc::new(f));
    }
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
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
            }
            next = self.telling.lock().remove(&here).unwrap_or_default();
        }
    }
}
