//! How a thread that is no worker waits, and is woken.
//!
//! ```text
//!  parker   WAITS -> 0                 woken before it sleeps: nobody calls the kernel for it
//!         WAITS -> ASLEEP -> 0       woken in its sleep: the waker, who sees that, calls the kernel
//! ```
//! *Poked:* a thread that may have been cancelled (`cancel::thread`) is told to look: `WAITS` or
//! `ASLEEP -> CHECK`, and is called if it was asleep. It sleeps no more before it has [looked],
//! `CHECK -> WAITS`.
//!
//! Before it sleeps it yields its processor some times: for about as long as falling asleep and
//! being woken would take, some microseconds. If its partner stands behind it on the same
//! processor, it comes to run at once; if the partner runs on another one, a yield is a pause in
//! which messages gather. Where many others want the processor a yield lets all of them run first,
//! which takes milliseconds: so when one has taken long, threads sleep at once in the next waits,
//! in more and more of them as long as that stays so. (Workers have another way: while one waits,
//! its worker goes on.)
//!
//! **Ordering.** What the waker did before: the Release of its swap with the Acquire of the look
//! that finds 0.
//!
//! **Rejected.** *To sleep at once:* two threads at a rendezvous met in 1,200 ns instead of 530,
//! and with one slot in 1,090 instead of 350. *To look at the word without yielding:* as fast when
//! both have a processor, and two to three times slower with 100 slots (115 instead of 36 ns a
//! message): each message is followed by a look, so the line with it goes to and fro for each, and
//! the two never come to share a processor.

use super::sleepers;
use crate::queue::look::{self, WaitsFor};
use crate::queue::parked::{PARKER_WAITS, Parked};
use crate::queue::reason::WaitReason;
use crate::sched::worker;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::futex::Parker;
use myriad_base::sys::mutant::{on, ord};
use myriad_base::sys::thread::yield_now;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// It is there, and looks at the word.
pub(super) const WAITS: u32 = PARKER_WAITS;
/// It sleeps, or is about to.
const ASLEEP: u32 = 2;
/// It is to look whether it is cancelled.
const CHECK: u32 = 3;

/// How often it yields before it sleeps.
pub(crate) const YIELDS: u32 = 16;
/// When a yield has taken so long, in microseconds, others need the processor.
const LONG_US: u64 = 100;
/// How many waits go without yields then, at least and at most.
const PENALTY: (u32, u32) = (256, 65_536);
/// With less time than this it does not yield: it might not be back.
const SHORT: Duration = Duration::from_millis(1);

/// Waits of all threads that still go without yields, and how many the last penalty was. Std's,
/// because they are no part of any protocol: estimates, of which an update may be lost.
static SKIP: AtomicU32 = AtomicU32::new(0);
static LAST_PENALTY: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Who is told when this thread falls asleep (true), and when it wakes up.
    static TOLD: Cell<Option<fn(bool)>> = const { Cell::new(None) };
}

/// From now on this function is told when the calling thread falls asleep, and when it wakes up.
pub(crate) fn tell_of_sleep(who: fn(bool)) {
    TOLD.set(Some(who));
}

/// A parker for one wait.
pub(crate) fn parker() -> Parker {
    Parker::new(WAITS)
}

/// Was it woken?
pub(crate) fn is_open(parker: &Parker) -> bool {
    // Acquire: pairs with the Release in `open`: what the waker did before.
    parker.word.load(ord(Acquire, "gate-acquire")) == 0
}

/// Waits until the parker of this node is open; or, with a time limit, for about so long: it may
/// also return early.
///
/// # Safety
/// The node is that of a wait of the calling thread's, which stands.
pub(crate) unsafe fn wait_at(node: *const Parked, timeout: Option<Duration>) {
    // SAFETY: the wait stands (this function's contract).
    unsafe { wait_for(&(*node).parker, timeout, || look::read(node)) };
}

/// The same at a parker that is in no node.
pub(crate) fn wait(parker: &Parker, timeout: Option<Duration>) {
    wait_for(parker, timeout, || WaitsFor { reason: WaitReason::Other, object: 0 });
}

#[inline(always)]
fn wait_for(parker: &Parker, timeout: Option<Duration>, why: impl FnOnce() -> WaitsFor) {
    if is_open(parker) || !cfg!(loom) && timeout.is_none_or(|left| left >= SHORT) && yield_until_open(parker) {
        return;
    }
    // Relaxed: on success nothing is taken over, on failure we look again.
    _ = parker.word.compare_exchange(WAITS, ASLEEP, Relaxed, Relaxed);
    let told = TOLD.try_with(Cell::get).ok().flatten();
    told.inspect(|told| told(true));
    sleepers::asleep(why(), timeout.is_some(), || parker.wait(ASLEEP, timeout));
    told.inspect(|told| told(false));
}

/// When a worker last opened a parker, in ticks. Std's, as above: a hint.
static CALLED_AT: AtomicU64 = AtomicU64::new(0);
/// So long, in microseconds, the thread may stand behind the worker that has called it, or behind
/// another one.
const COMES_US: u64 = 20;

/// Has a worker called a foreign thread of late? Then that may want the processor on which an idle
/// worker looks around.
pub(crate) fn was_called_lately(now: u64) -> bool {
    now.saturating_sub(CALLED_AT.load(Relaxed)) < COMES_US * ticks_per_us()
}

/// What a call takes that wakes a sleeping thread, in ticks, on the average of the last ones; 0:
/// none was made. Std's, as above: an estimate.
static WAKE_TICKS: AtomicU64 = AtomicU64::new(0);
/// One that took longer was interrupted, in microseconds.
const LONGEST_WAKE_US: u64 = 20;

/// What a call takes that wakes a sleeping thread, in ticks: 1 to 2 µs, on a virtual machine 8 to
/// 15, as much as that sleep costs the sleeper. `None`: none was made.
pub(super) fn wake_ticks() -> Option<u64> {
    Some(WAKE_TICKS.load(Relaxed)).filter(|&ticks| ticks > 0)
}

/// Opens a parker, which may be gone when this returns.
///
/// # Safety
/// The parker is there until it is open; nobody else opens it.
pub(crate) unsafe fn open(parker: *const Parker) {
    // Release: pairs with the Acquire in `is_open`. A read-modify-write: who sleeps has said so in
    // the same word.
    // SAFETY: the parker is there until the swap opens it, which nobody else does (this function's
    // contract). Afterwards the thread may go on and free the parker: only its address is used.
    let was = unsafe { (*parker).word.swap(0, ord(Release, "gate-release")) };
    if worker::current().is_some() {
        CALLED_AT.store(ticks(), Relaxed);
    }
    if was == ASLEEP && !on("parker-not-woken") {
        let began = ticks();
        // SAFETY: the parker stood until the swap above.
        unsafe { Parker::wake(parker) };
        let took = (ticks() - began).clamp(1, LONGEST_WAKE_US * ticks_per_us());
        let before = wake_ticks().unwrap_or(took);
        WAKE_TICKS.store((7 * before + took).div_ceil(8), Relaxed);
    }
}

/// Makes a thread look whether it is cancelled.
pub(crate) fn poke(parker: &Parker) {
    let mut was = parker.word.load(Relaxed);
    while was == WAITS || was == ASLEEP {
        // Release: the cancellation, for the Acquire in `looked`.
        match parker.word.compare_exchange(was, CHECK, Release, Relaxed) {
            Ok(_) => break,
            Err(now) => was = now,
        }
    }
    if was == ASLEEP {
        // SAFETY: a reference: the parker stands.
        unsafe { Parker::wake(parker) };
    }
}

/// The waiting thread is about to look whether it is cancelled, and sleeps again if it is not.
pub(crate) fn looked(parker: &Parker) {
    // Acquire: pairs with the Release in `poke`. If it is open, we see that next.
    _ = parker.word.compare_exchange(CHECK, WAITS, Acquire, Relaxed);
}

/// Yields for a while. True: it is open.
fn yield_until_open(parker: &Parker) -> bool {
    let skip = SKIP.load(Relaxed);
    if skip > 0 {
        SKIP.store(skip - 1, Relaxed);
        return false;
    }
    let mut last = ticks();
    for _ in 0..YIELDS {
        yield_now();
        let now = ticks();
        if now.wrapping_sub(last) > LONG_US * ticks_per_us() {
            let penalty = (2 * LAST_PENALTY.load(Relaxed)).clamp(PENALTY.0, PENALTY.1);
            LAST_PENALTY.store(penalty, Relaxed);
            SKIP.store(penalty, Relaxed);
            return is_open(parker);
        }
        if is_open(parker) {
            let penalty = LAST_PENALTY.load(Relaxed);
            if penalty > 0 {
                LAST_PENALTY.store(penalty / 2, Relaxed);
            }
            return true;
        }
        last = now;
    }
    false
}
