//! How many workers of the process are at work, in all pools: for those that look for work, which
//! are not to stand in the way of others.
//!
//! **A yield is paid for.** The kernel charges who yields for the time of those that it lets pass
//! (measured with Linux 6.18: a thread that has yielded wakes up 3 ms late, behind those that
//! compute, where one that has slept wakes up 0.1 ms late). So a worker that finds nothing yields
//! only where a processor is left for it, and sleeps soon where all are taken.
//!
//! The number is a hint. A worker that a task holds in the system counts as one at work, also
//! beside the spare that stands in for it; threads that are no workers do not count, nor do other
//! processes.
//!
//! **Rejected.** *Pauses in place of yields:* a thread that is no worker, and waits for a call,
//! stands behind them (1.7 to 57 µs for a call). *Naps of some microseconds:* each ends by an
//! interrupt of the timer, dear in a virtual machine (40 to 97 µs for a call). *Sleeping at once
//! wherever nothing is found:* 15 µs for each such call.

use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// Workers that have their role, but for those that look for work, or sleep. Std's, and all
/// Relaxed: no part of a protocol.
static AT_WORK: AtomicIsize = AtomicIsize::new(0);

/// A worker begins or (with `false`) ends.
pub(crate) fn count(begins: bool) {
    AT_WORK.fetch_add(if begins { 1 } else { -1 }, Relaxed);
}

/// In the child of a fork: the workers are the parent's.
pub(crate) fn forget_all() {
    AT_WORK.store(0, Relaxed);
}

/// A worker has nothing to do, as long as this is there.
#[derive(Debug)]
pub(super) struct Looking(());

impl Looking {
    pub(super) fn begin() -> Looking {
        count(false);
        Looking(())
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        count(true);
    }
}

/// Are as many other workers at work as the process has processors? The caller is one that
/// [looks](Looking).
pub(super) fn others_fill_processors() -> bool {
    AT_WORK.load(Relaxed) >= myriad_base::sys::thread::processors().workers as isize
}
