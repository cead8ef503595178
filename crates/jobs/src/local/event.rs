//! What happens to jobs, for who wants to be told.

use crate::machine::{Decision, JobId, State};
use myriad_core::engine::user_code;
use std::sync::Arc;
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
pub(super) struct Listeners(Vec<Listener>);

impl Listeners {
    pub(super) fn add(&mut self, f: impl Fn(&Event) + Send + Sync + 'static) {
        self.0.push(Arc::new(f));
    }
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(super) fn tell(&self, event: &Event) {
        for listener in &self.0 {
            user_code::run("a listener of jobs", || listener(event));
        }
    }
}
