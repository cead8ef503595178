//! What a shutdown has found.

use std::fmt;
use std::panic::Location;

/// What [`Runtime::shutdown`](super::Runtime::shutdown) could not end, and what it dropped.
#[derive(Debug, Clone, Default)]
#[must_use = "the report says whether all tasks have ended"]
pub struct Report {
    pub(super) unfinished: Vec<Unfinished>,
    pub(super) dropped: Vec<Unfinished>,
}

/// A task in a [`Report`].
#[derive(Debug, Clone)]
pub struct Unfinished {
    pub(super) name: Option<String>,
    pub(super) place: &'static Location<'static>,
    pub(super) state: State,
}

/// Where a shutdown found a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// A closure, or a future in a poll, that is blocked: its stack stays as it is.
    Blocked,
    /// It is on a worker that did not come back in time.
    Running,
    /// It had not been started: dropped.
    Unstarted,
    /// A future that waited: dropped.
    Waiting,
}

impl Report {
    /// Have all tasks ended?
    pub fn is_clean(&self) -> bool {
        self.unfinished.is_empty() && self.dropped.is_empty()
    }
    /// Tasks that are still there, and always will be.
    pub fn unfinished(&self) -> &[Unfinished] {
        &self.unfinished
    }
    /// Tasks that were dropped.
    pub fn dropped(&self) -> &[Unfinished] {
        &self.dropped
    }
}

impl Unfinished {
    /// The task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// Where it was spawned.
    pub fn place(&self) -> &'static Location<'static> {
        self.place
    }
    /// Where the shutdown found it.
    pub fn state(&self) -> State {
        self.state
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "task '{name}' spawned at {}: ", self.place)?,
            None => write!(f, "task spawned at {}: ", self.place)?,
        }
        f.write_str(match self.state {
            State::Blocked => "blocked",
            State::Running => "still running",
            State::Unstarted => "not started, dropped",
            State::Waiting => "a waiting future, dropped",
        })
    }
}

/// Tasks named one by one; of more, only the number.
const NAMED: usize = 20;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("all tasks have ended");
        }
        write!(f, "{} tasks have not ended, {} were dropped", self.unfinished.len(), self.dropped.len())?;
        let all = self.unfinished.len() + self.dropped.len();
        for task in self.unfinished.iter().chain(&self.dropped).take(NAMED) {
            write!(f, "\n  {task}")?;
        }
        if all > NAMED {
            write!(f, "\n  and {} more", all - NAMED)?;
        }
        Ok(())
    }
}
