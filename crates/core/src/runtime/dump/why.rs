//! What one task waits for, and what that waits for in turn.

use super::text::{describe, doing};
use super::{Activity, Dump, TaskState};
use std::collections::{HashMap, HashSet};
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
    /// is cancelled. (False where one of them is a future, which may wait for something else too.)
    pub fn is_cycle(&self) -> bool {
        self.is_cycle
    }
}

impl Dump {
    /// What this task waits for, and so on: see [`WhyWaiting`]. Of a scope's tasks, one that waits.
    pub fn why(&self, task: &TaskState) -> WhyWaiting {
        self.why_by(&self.ends(), task)
    }

    /// The index of each task, by its record.
    pub(super) fn by_record(&self) -> HashMap<usize, usize> {
        if self.tasks.iter().all(|task| task.joins().is_none()) {
            return HashMap::new();
        }
        self.tasks.iter().enumerate().map(|(i, task)| (task.record, i)).collect()
    }

    fn ends(&self) -> Ends {
        let scoped = self.tasks.iter().enumerate().filter(|(_, task)| task.scope != 0);
        let mut by_scope = HashMap::new();
        for (i, task) in scoped {
            let chosen = by_scope.entry(task.scope).or_insert(i);
            if self.tasks[*chosen].activity != Activity::Waits && task.activity == Activity::Waits {
                *chosen = i;
            }
        }
        Ends { by_record: self.by_record(), by_scope }
    }

    fn why_by(&self, ends: &Ends, task: &TaskState) -> WhyWaiting {
        let mut chain = vec![task.clone()];
        let mut met = HashSet::from([task.record]);
        while let Some(next) = chain.last().and_then(|last| ends.awaited_by(last)) {
            let next = &self.tasks[next];
            if !met.insert(next.record) {
                let mut cycle = chain.iter().skip_while(|task| task.record != next.record);
                let is_cycle = cycle.all(|task| !task.is_future);
                return WhyWaiting { chain, is_cycle };
            }
            chain.push(next.clone());
        }
        WhyWaiting { chain, is_cycle: false }
    }

    /// Of all tasks that wait for another one's end, the one with the longest chain behind it; one
    /// that comes to a cycle before all others. Each task is walked over once.
    pub(crate) fn longest_chain(&self) -> Option<WhyWaiting> {
        const ON_PATH: usize = usize::MAX;
        let ends = self.ends();
        let next = |i: usize| ends.awaited_by(&self.tasks[i]);
        // Does its chain come to a cycle, and of how many tasks is the chain? 0: not known yet.
        let mut chains = vec![(false, 0); self.tasks.len()];
        let waits = |i: &usize| self.tasks[*i].joins().is_some() || next(*i).is_some();
        let joiners = || (0..self.tasks.len()).filter(waits);
        for first in joiners() {
            let (mut path, mut at) = (Vec::new(), Some(first));
            while let Some(i) = at.filter(|&i| chains[i].1 == 0) {
                chains[i].1 = ON_PATH;
                path.push(i);
                at = next(i);
            }
            let mut behind = at.map_or((false, 0), |i| chains[i]);
            if behind.1 == ON_PATH {
                let begin = path.iter().position(|&i| Some(i) == at).unwrap_or(0);
                behind = (true, path.len() - begin);
                path.drain(begin..).for_each(|i| chains[i] = behind);
            }
            for i in path.into_iter().rev() {
                behind.1 += 1;
                chains[i] = behind;
            }
        }
        let longest = joiners().max_by_key(|&i| chains[i])?;
        Some(self.why_by(&ends, &self.tasks[longest]))
    }
}

/// Which task another one waits for, by indices in a dump.
struct Ends {
    by_record: HashMap<usize, usize>,
    by_scope: HashMap<usize, usize>,
}

impl Ends {
    fn awaited_by(&self, task: &TaskState) -> Option<usize> {
        let joined = task.joins().and_then(|record| self.by_record.get(&record));
        joined.or_else(|| self.by_scope.get(&task.ends_scope()?)).copied()
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
