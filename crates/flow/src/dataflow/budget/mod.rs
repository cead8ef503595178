//! A budget of memory for values of nodes: what does not fit goes to files.

mod files;
mod ledger;
mod slot;
mod spawn;
mod spillable;

pub use ledger::BudgetStats;
pub use spillable::{Loan, Spillable};

use super::args::{Args, Body};
use super::options::Options;
use crate::stored::Stored;
use files::SpillFolder;
use ledger::Ledger;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// So much memory for the values of its nodes; what does not fit goes to files.
///
/// A node that is spawned in a budget has a value that is [`Stored`], and a [`Spillable`] as its
/// handle. Its value counts as [`Stored::bytes`] says. Where the values exceed the budget, those go
/// to files that nobody reads now, the least recently made or read first. A body that takes such a
/// value gets it as any other: the value is read back before the body begins.
///
/// **What is in memory** is at most the budget, and what bodies have made or were lent that run, or
/// have run since a node of the budget began: a value that is lent stays until the body has ended.
/// So a body that takes a hundred values has a hundred in memory. A value that is moved to a body
/// counts no more.
///
/// **A value is written once at most**: what was read back, and is spilled again, is dropped. A
/// value that changes while it is lent (a lock in it, an atomic) comes back as it was written.
///
/// **Files** are in a folder of the system's [temporary directory](std::env::temp_dir) that is made
/// for them, or [elsewhere](Self::in_folder). A file goes with its value, and the folder with the
/// last value and the last clone of the budget; a process that is killed leaves them.
///
/// A clone is the same budget.
///
/// # Blocking
/// Files are written and read on a thread that may block; the task of a node is set aside
/// meanwhile. Nodes of a budget begin one after the other, and each reads what it needs: while one
/// reads, others of the budget wait, in no task, and other nodes run.
///
/// # Errors
/// A value that cannot be written, because the disk is full, stays in memory:
/// [`BudgetStats::failed_writes`] counts that. A value that cannot be read back fails the nodes
/// that need it, with a [`StoreError`](super::StoreError).
///
/// # Panics
/// A panic of [`Stored::write`] is a failure to write, and a panic of [`Stored::read`] fails the
/// node that needs the value.
///
/// # Cancellation
/// A node that is cancelled while it waits for its turn ends at once. A write goes on, for the
/// value is another node's. (A runtime that ends waits for a write or a read that is under way, and
/// cancels the nodes that wait behind it.)
///
/// # Examples
/// ```
/// use myriad::flow::{self, Budget};
/// let budget = Budget::new(1 << 20);
/// let parts: Vec<_> = (0..64_u64).map(|n| budget.spawn(move || vec![n; 10_000], ())).collect(); // 5 MB
/// let sums = parts.iter().map(|part| flow::spawn(|part: &Vec<u64>| part.iter().sum::<u64>(), (part,)));
/// let total: u64 = flow::all(sums.collect()).join()?.iter().sum();
/// assert_eq!(total, 64 * 63 / 2 * 10_000);
/// let stats = budget.stats();
/// assert!(stats.memory <= 1 << 20 && stats.disk > 1 << 20);
/// # Ok::<(), flow::NodeError>(())
/// ```
#[doc(alias = "enable_disk_caching")]
#[doc(alias = "spill")]
#[derive(Clone)]
pub struct Budget(Arc<Ledger>);

impl Budget {
    /// So many bytes, and files in the system's temporary directory. (Where that is in memory, as
    /// on many systems `/tmp` is, nothing is gained.)
    pub fn new(bytes: usize) -> Self {
        Budget::in_folder(bytes, std::env::temp_dir())
    }

    /// So many bytes, and files in a folder that is made in this one.
    ///
    /// # Examples
    /// ```
    /// let budget = myriad::flow::Budget::in_folder(8 << 30, "/var/tmp");
    /// assert_eq!(budget.stats().memory, 0);
    /// ```
    pub fn in_folder(bytes: usize, folder: impl Into<PathBuf>) -> Self {
        Budget(Ledger::new(bytes, SpillFolder::new(folder.into())))
    }

    /// As [`flow::spawn`](super::spawn), of a node whose value counts towards this budget. For a
    /// node with options there is [`Options::spawn_in`].
    #[track_caller]
    pub fn spawn<F, A>(&self, f: F, args: A) -> Spillable<F::Output>
    where
        A: Args,
        F: Body<A> + Send + 'static,
        F::Output: Stored + Send + Sync + 'static,
    {
        Options::new().spawn_in(self, f, args)
    }

    /// What its values take now.
    pub fn stats(&self) -> BudgetStats {
        self.0.stats()
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut budget = f.debug_struct("Budget");
        budget
            .field("bytes", &self.0.limit())
            .field("folder", &self.0.folder.parent())
            .field("stats", &self.stats())
            .finish()
    }
}
