//! `fork`: the child has the memory of its parent's runtimes, and none of their threads but the one that has forked.
//!
//! Each process has an *era*, a number that grows with each fork. What has threads says of which era they are: a hub, the monitor, the
//! pools of threads, gangs. A hub of an earlier one says so to whoever asks it for something ([`Hub::is_elsewhere`]), who would wait for
//! ever; the others begin anew. A task that forks goes on as a task in the child: its worker is there, and so its hub is of the new era.
//!
//! **Locks.** What all runtimes share is held by nobody else while the process is copied: the forking thread takes these locks before, and
//! gives them back after, in the parent and in the child. Elsewhere two of them are taken in this order, or not at all.
//! (Locks of single runtimes are left as they are: nobody asks a runtime of the parent.)

use super::hub::{self, Hub};
use super::monitor;
use crate::blocking;
use crate::sched::worker;
use crate::task::{gang, memory};
use std::cell::RefCell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What is of era 0 has not begun. Relaxed, always: written in a child that has one thread.
static ERA: AtomicU32 = AtomicU32::new(1);

/// The era of this process.
#[inline]
pub(crate) fn era() -> u32 {
    ERA.load(Relaxed)
}

struct Held {
    _gangs: gang::Locks,
    _hubs: hub::FreeLock,
    _monitor: monitor::Locks,
    _records: memory::Locks,
    _calls: blocking::Locks,
}

thread_local! {
    static HELD: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// From now on forks are seen. The first call counts.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: functions that stay, and do not unwind: they lock and unlock.
        #[cfg(all(unix, not(miri)))]
        unsafe {
            libc::pthread_atfork(Some(before), Some(after), Some(after_in_child));
        }
        #[cfg(not(all(unix, not(miri))))]
        let _ = [before as extern "C" fn(), after, after_in_child];
    });
}

extern "C" fn before() {
    _ = HELD.try_with(|held| {
        held.replace(Some(Held {
            _gangs: gang::lock_all(),
            _hubs: hub::lock_free(),
            _monitor: monitor::lock_all(),
            _records: memory::lock_all(),
            _calls: blocking::lock_all(),
        }))
    });
}

extern "C" fn after() {
    _ = HELD.try_with(|held| held.replace(None));
}

extern "C" fn after_in_child() {
    ERA.store(era().wrapping_add(1), Relaxed);
    if let Some(w) = worker::current() {
        w.hub.is_here();
    }
    after();
}

impl Hub {
    /// What a runtime of the parent says to whoever asks it for something.
    ///
    /// # Panics
    /// If this is a child, and the runtime the parent's.
    pub(crate) fn expect_here(&self) {
        assert!(!self.is_elsewhere(), "{}", self.elsewhere());
    }

    /// The text for that.
    #[cold]
    pub(crate) fn elsewhere(&self) -> String {
        format!(
            "this process was forked, and the runtime '{}' has no workers here, but in the parent; in the child, call `exec`, or build \
             a runtime there",
            self.config().name
        )
    }
}
