//! The dedicated tasks of a pool, which have threads of their own.

use crate::record::header::Header;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::sys::{map, thread};
use std::thread::JoinHandle;

/// The dedicated tasks of a pool.
#[derive(Debug, Default)]
pub(crate) struct Dedicated(Mutex<Entries>);

#[derive(Debug, Default)]
pub(crate) struct Entries {
    /// Those that have not ended.
    pub(crate) live: Vec<DedicatedTask>,
    /// Threads that were not joined yet.
    pub(crate) threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DedicatedTask(pub(crate) *const Header);
// SAFETY: an address to compare.
unsafe impl Send for DedicatedTask {}

impl Dedicated {
    pub(crate) fn locked(&self) -> MutexGuard<'_, Entries> {
        self.0.lock()
    }

    /// Has every dedicated task ended?
    pub(crate) fn is_empty(&self) -> bool {
        self.locked().live.is_empty()
    }

    /// How many have not ended.
    pub(crate) fn count(&self) -> usize {
        self.locked().live.len()
    }

    /// Has this task a thread of its own?
    pub(crate) fn has(&self, task: *const Header) -> bool {
        self.locked().live.contains(&DedicatedTask(task))
    }

    /// The addresses of those that have not ended.
    pub(crate) fn addresses(&self) -> Vec<usize> {
        self.locked().live.iter().map(|task| task.0.addr()).collect()
    }

    pub(crate) fn ended(&self, task: *const Header) {
        let mut entries = self.locked();
        if let Some(i) = entries.live.iter().position(|other| other.0 == task) {
            entries.live.swap_remove(i);
        }
    }

    /// Joins the threads that are gone; or waits for all, if every task has ended.
    pub(crate) fn join(&self, all: bool) {
        let mut entries = self.locked();
        let all = all && entries.live.is_empty();
        let mut over = Vec::new();
        for thread in std::mem::take(&mut entries.threads) {
            match if all { Ok(Some(thread)) } else { thread::try_join(thread) } {
                Ok(left) => over.push(left),
                Err(thread) => entries.threads.push(thread),
            }
        }
        drop(entries);
        for left in over {
            // It does not unwind: panics stop at the task, and what goes on ends the process.
            _ = left.map(JoinHandle::join);
            map::thread_ended();
        }
    }
}
