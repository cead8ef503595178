//! What the values of a budget take, and which of them nobody reads.

use super::files::SpillFolder;
use crate::dataflow::gate::Gate;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::running::delay_shutdown;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Weak};

/// What the values of a [`Budget`](super::Budget) take, in bytes as [`Stored::bytes`] says.
///
/// Example: [`Budget`](super::Budget).
///
/// [`Stored::bytes`]: crate::dataflow::Stored::bytes
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BudgetStats {
    /// In memory now.
    pub memory: usize,
    /// The most that ever was in memory.
    pub most_memory: usize,
    /// In files now, as long as these are. (A value that was read again is in memory, too.)
    pub disk: u64,
    /// Written to files, in all. A value is written once at most.
    pub spilled: u64,
    /// Read from files, in all.
    pub read: u64,
    /// Values that could not be written, and stay in memory.
    pub failed_writes: u64,
    /// Why the last one of these could not be.
    pub last_failure: Option<io::ErrorKind>,
}

/// A value that may go to a file.
pub(super) trait Spill: Send + Sync {
    /// Frees its memory, if it still is what was put on the list at this time. False: it cannot be
    /// written.
    fn spill(self: Arc<Self>, idle_at: u64) -> bool;
}

pub(super) struct Ledger {
    limit: usize,
    pub(super) folder: Arc<SpillFolder>,
    pub(super) gate: Arc<Gate>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct Book {
    stats: BudgetStats,
    /// In memory and not lent, by the time since when: those that are spilled first are first.
    idle: BTreeMap<u64, Weak<dyn Spill>>,
    time: u64,
}

impl Ledger {
    pub(super) fn new(limit: usize, folder: Arc<SpillFolder>) -> Arc<Self> {
        Arc::new(Ledger { limit, folder, gate: Arc::default(), book: Mutex::default() })
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn stats(&self) -> BudgetStats {
        self.book.lock().stats.clone()
    }

    /// A change of the numbers.
    pub(super) fn note(&self, f: impl FnOnce(&mut BudgetStats)) {
        let mut book = self.book.lock();
        f(&mut book.stats);
        book.stats.most_memory = book.stats.most_memory.max(book.stats.memory);
    }

    /// Nobody reads this value now. Returns since when.
    pub(super) fn idle(&self, value: Weak<dyn Spill>) -> u64 {
        let mut book = self.book.lock();
        book.time += 1;
        let time = book.time;
        book.idle.insert(time, value);
        time
    }

    /// The value that was put on the list at this time is lent, or gone.
    pub(super) fn not_idle(&self, since: u64) {
        let value = self.book.lock().idle.remove(&since);
        drop(value);
    }

    /// Spills values until there is room for so much, or nothing to spill. False: one cannot be
    /// written, and the others stay, too, for now.
    ///
    /// Blocks while files are written, also if the task is cancelled.
    pub(super) fn make_room(&self, bytes: usize) -> bool {
        while let Some((idle_at, value)) = self.next_to_spill(bytes) {
            if !value.upgrade().is_none_or(|value| value.spill(idle_at)) {
                return false;
            }
        }
        true
    }

    fn next_to_spill(&self, bytes: usize) -> Option<(u64, Weak<dyn Spill>)> {
        let mut book = self.book.lock();
        (book.stats.memory.saturating_add(bytes) > self.limit).then(|| book.idle.pop_first()).flatten()
    }

    /// As `make_room`, unless another one is at it, who then does this, too.
    pub(super) fn settle(&self) {
        while self.is_over() && self.has_idle() {
            let Some(pass) = self.gate.try_enter() else { return };
            // (Where the runtime is about to stop, that is left to the next node.)
            let Some(_delay) = delay_shutdown() else { return };
            let has_room = self.make_room(0);
            drop(pass);
            if !has_room {
                return;
            }
            // Somebody may have been refused meanwhile.
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.book.lock().stats.memory > self.limit
    }

    fn has_idle(&self) -> bool {
        !self.book.lock().idle.is_empty()
    }
}
