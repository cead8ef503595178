//! What one task waits for, and what that waits for in turn.

use super::text::{describe, doing};
use super::{Dump, TaskState};
use std::fmt;

/// Why a task has not ended: what it waits for; if that is a task, what that one waits for, and so
/// on. Of [`JoinHandle::why_waiting`](crate::JoinHandle::why_waiting).
///
/// Its `Display` is a sentence.
#[derive(Debug, Clone)]
pub struct WhyWaiting {
    chain: Vec<TaskState>,
    is_cycle: bool,
}

impl WhyWaiting {
    /// Of the task in this record, if it has not ended.
    pub(crate) fn of(record: usize) -> Option<WhyWaiting> {
        let dump = super::dump();
        let task = dump.tasks.iter().find(|task| task.record == record)?;
        Some(dump.why(task))
    }

    /// The task itself, then the one that it waits for, and so on.
    pub fn chain(&self) -> &[TaskState] {
        &self.chain
    }

    /// Does the last one wait for one of those before it? Then none of them ever ends, unless one
    /// is cancelled.
    pub fn is_cycle(&self) -> bool {
        self.is_cycle
    }
}

impl Dump {
    /// What this task waits for, and so on: see [`WhyWaiting`].
    pub fn why(&self, task: &TaskState) -> WhyWaiting {
        let mut chain = vec![task.clone()];
        while let Some(next) = chain.last().and_then(|last| self.joined_by(last)) {
            if chain.iter().any(|before| before.record == next.record) {
                return WhyWaiting { chain, is_cycle: true };
            }
            chain.push(next.clone());
        }
        WhyWaiting { chain, is_cycle: false }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", describe(self), doing(self))
    }
}

impl fmt::Display for WhyWaiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.chain.first() else { return Ok(()) };
        f.write_str(&describe(first))?;
        for next in &self.chain[1..] {
            write!(f, " waits for {}, which", describe(next))?;
        }
        match self.chain.last() {
            Some(_) if self.is_cycle => f.write_str(" waits for one of these: a deadlock")?,
            Some(last) if last.since >= 100 => write!(f, " {}, for {} s or more", doing(last), last.since / 100)?,
            Some(last) => write!(f, " {}", doing(last))?,
            None => {}
        }
        Ok(())
    }
}
