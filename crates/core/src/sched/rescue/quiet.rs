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
//! **Perhaps.** In debug builds, while a plain thread waits for tasks, the look goes on: do all
//! threads stand still for a second and longer, where the process's first one may wait for a time?
//! So libtest's own thread, which waits for its tests with a time limit, does not hide a deadlock
//! in one of them. (Any other thread that waits for a time may be a timer.)
//!
//! Who is told is left here by the floor above, and nothing is done before somebody has.

use myriad_base::sys::clock;
use myriad_base::sys::hooks::Hooks;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::sys::thread::waits;
// Std's: hints.
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::thread::Thread;
use std::time::Duration;

/// So long all is quiet before the look.
const QUIET: Duration = Duration::from_millis(100);
/// Between the two looks.
const BETWEEN: Duration = Duration::from_millis(10);
/// So many times as long as a look takes nobody looks before the next one: threads that fall asleep
/// and wake up all the time, of thousands, cost a tenth of a processor at most.
const REST: u32 = 10;

/// So long all stands still when there is perhaps a deadlock; twice as long at each further look.
const STILL: Duration = Duration::from_secs(1);
const LONGEST_STILL: Duration = Duration::from_secs(64);

static TOLD: Hooks<fn(), 1> = Hooks::new();
/// Does a plain thread wait for tasks, and is a hint wanted?
static WANTS_HINT: Hooks<fn() -> bool, 1> = Hooks::new();
/// There is perhaps a deadlock.
static PERHAPS: Hooks<fn(), 1> = Hooks::new();
/// The monitor would look again, if a thread falls asleep.
static WANTED: AtomicBool = AtomicBool::new(false);
static MONITOR: Mutex<Option<Thread>> = Mutex::new(None);
/// So many more looks are taken, although nobody has woken up since the last deadlock.
static AGAIN: AtomicU8 = AtomicU8::new(0);
/// As many are enough for a thread to come to its end.
const LOOKS: u8 = 20;
/// How long the last look took, in nanoseconds.
static TOOK: AtomicU64 = AtomicU64::new(0);

/// For `fork`.
pub(super) fn lock() -> MutexGuard<'static, Option<Thread>> {
    MONITOR.lock()
}

/// From now on this is called when there is a deadlock: on the monitor's thread, under no lock.
pub(crate) fn when_deadlocked(told: fn()) {
    TOLD.set(0, told);
}

/// From now on these are called: is a hint wanted now? And: there is perhaps a deadlock. On the
/// monitor's thread, under no lock: they wait for nothing.
pub(crate) fn when_perhaps_deadlocked(wanted: fn() -> bool, told: fn()) {
    WANTS_HINT.set(0, wanted);
    PERHAPS.set(0, told);
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

/// What was done about a deadlock may have been in vain: if no worker wakes up, somebody is told
/// again.
pub(crate) fn look_whether_it_ends() {
    AGAIN.store(LOOKS, Relaxed);
    if let Some(monitor) = &*MONITOR.lock() {
        monitor.unpark();
    }
}

/// Is there to be one more look?
pub(super) fn again() -> bool {
    AGAIN.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
}

/// The calling monitor has seen all workers asleep, and would sleep as long as `still`. `timed`
/// threads wait for a time and have nothing to do then. True: there is a deadlock, and somebody was
/// told.
pub(super) fn look(still: impl Fn() -> bool, timed: impl Fn() -> usize) -> bool {
    let Some(told) = TOLD.get(0) else { return false };
    *MONITOR.lock() = Some(std::thread::current());
    rest(&still, QUIET.max(Duration::from_nanos(TOOK.load(Relaxed)) * REST));
    if !still() {
        return false;
    }
    // First: who falls asleep from here on is seen, or wakes us.
    WANTED.store(true, Relaxed);
    let began = clock::system_now();
    let is_deadlock = is_certain(&still, &timed, |timed| waits::all_wait(timed, false, &still));
    TOOK.store((clock::system_now() - began).as_nanos() as u64, Relaxed);
    if is_deadlock {
        WANTED.store(false, Relaxed);
        AGAIN.store(0, Relaxed);
        told();
    } else if AGAIN.load(Relaxed) == 0 {
        look_on(&still, timed);
    }
    is_deadlock
}

/// There is no certain deadlock: looks on for one that is perhaps there, as long as nobody falls
/// asleep, which asks for the first look again.
fn look_on(still: &impl Fn() -> bool, timed: impl Fn() -> usize) {
    let (Some(wanted), Some(told)) = (WANTS_HINT.get(0), PERHAPS.get(0)) else { return };
    let looks_on = || still() && WANTED.load(Relaxed);
    let mut pause = STILL;
    while looks_on() && wanted() {
        let before = waits::all_wait(timed(), true, looks_on);
        rest(&looks_on, pause);
        if before.is_some() && looks_on() && waits::all_wait(timed(), true, looks_on) == before {
            told();
        }
        pause = LONGEST_STILL.min(2 * pause);
    }
    if still() && !WANTED.load(Relaxed) {
        // The wake of who falls asleep was ours: the caller looks again.
        std::thread::current().unpark();
    }
}

/// Waits for this time, as long as `still`.
fn rest(still: &impl Fn() -> bool, time: Duration) {
    let until = clock::system_now() + time;
    while still() {
        let left = until.saturating_duration_since(clock::system_now());
        if left.is_zero() {
            return;
        }
        clock::park(left);
    }
}

/// Do all threads wait at one moment? `all_wait` looks at each of them: `None`, if not all wait for
/// ever but for so many of them.
fn is_certain<T: PartialEq>(
    still: &impl Fn() -> bool,
    timed: impl Fn() -> usize,
    all_wait: impl Fn(usize) -> Option<T>,
) -> bool {
    let Some(before) = all_wait(timed()) else { return false };
    clock::park(BETWEEN);
    // Counted anew, between the two looks: if all wait in that time, the count is that of the
    // moment. One that had nothing to do at the first count may have a call since, which waits for
    // a time of its own.
    all_wait(timed()) == Some(before) && still()
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::cell::Cell;

    /// One thread waits for a time, and all others for ever.
    fn one_is_timed(timed: usize) -> Option<u32> {
        (timed >= 1).then_some(1)
    }

    #[test]
    fn a_thread_that_gets_a_call_is_not_idle_any_more() {
        assert!(is_certain(&|| true, || 1, one_is_timed));
        // The call comes between the count and the look, and waits for a time.
        let idle = Cell::new(1);
        let look = |timed| {
            idle.set(0);
            one_is_timed(timed)
        };
        assert!(!is_certain(&|| true, || idle.get(), look));
        // It has run, or what was asleep is awake.
        let look = Cell::new(0);
        let slept = |_| Some(look.replace(look.get() + 1));
        assert!(!is_certain(&|| true, || 1, slept) && !is_certain(&|| false, || 1, one_is_timed));
    }

    #[test]
    fn a_rest_ends_when_a_worker_wakes_up() {
        let asked = Cell::new(0);
        let still = || asked.replace(asked.get() + 1) == 0;
        std::thread::current().unpark();
        rest(&still, Duration::from_secs(3600));
        assert_eq!(asked.get(), 2);
        // A wake of another kind does not end it.
        std::thread::current().unpark();
        let began = clock::system_now();
        rest(&|| true, Duration::from_millis(30));
        assert!(clock::system_now() - began >= Duration::from_millis(30));
    }
}
