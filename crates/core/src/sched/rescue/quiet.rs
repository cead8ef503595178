//! Nothing moves any more: the monitor's look for a deadlock before it sleeps.
//!
//! ```text
//!  monitor   all workers sleep: waits 0.1 s; still so? -> WANTED; all threads wait for ever? -> tells
//!  thread    falls asleep without a time limit; WANTED? -> the monitor looks once more
//! ```
//! The look is that of [`waits`](myriad_base::sys::thread::waits): it is certain, or says nothing.
//! A program that is idle for other reasons has a thread that waits for something else than a
//! thread (input, a time, a child), which is most often the first one that is looked at.
//!
//! Who is told is left here by the floor above, and nothing is done before somebody has.

use myriad_base::sys::clock;
use myriad_base::sys::hooks::Hooks;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::sys::thread::waits;
// Std's: hints.
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::Thread;
use std::time::Duration;

/// So long all is quiet before the look.
const QUIET: Duration = Duration::from_millis(100);
/// Between the two looks.
const BETWEEN: Duration = Duration::from_millis(10);

static TOLD: Hooks<fn(), 1> = Hooks::new();
/// The monitor would look again, if a thread falls asleep.
static WANTED: AtomicBool = AtomicBool::new(false);
static MONITOR: Mutex<Option<Thread>> = Mutex::new(None);

/// For `fork`.
pub(super) fn lock() -> MutexGuard<'static, Option<Thread>> {
    MONITOR.lock()
}

/// From now on this is called when there is a deadlock: on the monitor's thread, under no lock.
pub(crate) fn when_deadlocked(told: fn()) {
    TOLD.set(0, told);
}

/// A plain thread falls asleep, without a time limit.
#[inline]
pub(crate) fn somebody_sleeps() {
    if WANTED.load(Relaxed) {
        look_again();
    }
}

#[cold]
fn look_again() {
    if WANTED.swap(false, Relaxed)
        && let Some(monitor) = &*MONITOR.lock()
    {
        monitor.unpark();
    }
}

/// The calling monitor has seen all workers asleep, and would sleep as long as `still`. `timed`
/// threads wait for a time and have nothing to do then. True: there is a deadlock, and somebody was
/// told.
pub(super) fn look(still: impl Fn() -> bool, timed: impl Fn() -> usize) -> bool {
    let Some(told) = TOLD.get(0) else { return false };
    *MONITOR.lock() = Some(std::thread::current());
    clock::park(QUIET);
    if !still() {
        return false;
    }
    // First: who falls asleep from here on is seen, or wakes us.
    WANTED.store(true, Relaxed);
    let timed = timed();
    let Some(before) = waits::all_wait(timed) else { return false };
    clock::park(BETWEEN);
    let is_deadlock = waits::all_wait(timed) == Some(before) && still();
    if is_deadlock {
        WANTED.store(false, Relaxed);
        told();
    }
    is_deadlock
}
