//! The state word of a future: who polls it, and whether a wake is on its way.
//!
//! ```text
//!  IDLE --wake--> SCHEDULED --poll--> RUNNING --pending--> IDLE      RUNNING --wake--> NOTIFIED --pending--> SCHEDULED
//!  NEW --first poll--> RUNNING --ready--> next generation, FREE
//! ```
//! Above the three bits stands the generation of the record's memory: a wake for a task that has
//! ended finds another generation, or a state that is not to be woken, and does nothing.
//!
//! **Invariant.** A wake is never lost: a poll that begins after the wake sees what the waker did,
//! or the wake sees RUNNING and the poll is done again.
//!
//! **Ordering.** The waker does a read-modify-write (release) in *every* state, and the poller
//! begins with one (acquire): so they are ordered on the word. A waker that only loaded would leave
//! its data in the store buffer while it reads SCHEDULED, and the poll would miss it: on x86 too.
//!
//! A *cancellation* marks the record, and then wakes. It may find NEW, in which there is nothing to
//! wake, while the first poll, which begins with a store, has looked for the flag and not seen it.
//! So the first poll looks once more when it is over ([`end_first_poll`]): state | SeqCst | flag
//! against flag | SeqCst | state, in [`for_cancellation`]. Later polls need not.
//!
//! Tests: `tests/loom/future.rs`.

use myriad_base::sys::atomic::{AtomicU8, AtomicU32, LoadInOrder, Ordering::*, Overwrite};
use myriad_base::sys::mutant::{on, ord, ord_to};

/// Free memory, or not a future.
pub(crate) const FREE: u32 = 0;
/// Waits for a wake.
pub(crate) const IDLE: u32 = 1;
/// In a queue.
pub(crate) const SCHEDULED: u32 = 2;
/// Being polled.
pub(crate) const RUNNING: u32 = 3;
/// Being polled, and woken since.
pub(crate) const NOTIFIED: u32 = 4;
/// Never polled: no waker exists yet, so the first poll need not be ordered after any wake.
pub(crate) const NEW: u32 = 5;
/// A closure that runs, whose record says who hears if it is left: see [`watch`](super::watch).
const WATCHED: u32 = 6;

const STATE: u32 = 7;
const GENERATION_SHIFT: u32 = 3;
/// A generation has so many bits, because a waker has so many to spare.
pub(crate) const GENERATION_BITS: u32 = 19;

/// The generation in a state word.
pub(crate) const fn generation(word: u32) -> u32 {
    word >> GENERATION_SHIFT & ((1 << GENERATION_BITS) - 1)
}

const fn word(generation: u32, state: u32) -> u32 {
    generation << GENERATION_SHIFT | state
}

/// Begins a future's life in a record, which is queued next.
#[inline(always)]
pub(crate) fn begin(state: &AtomicU32) {
    // Relaxed: published with the record. (The word is FREE, that is 0, but for the generation.)
    state.overwrite(state.load(Relaxed) | NEW, Relaxed);
}

/// Ends it: the next generation begins. Wakes from now on do nothing.
pub(crate) fn end(state: &AtomicU32) {
    let next = generation(state.load(Relaxed).wrapping_add(1 << GENERATION_SHIFT));
    state.overwrite(word(next, FREE), Relaxed);
}

/// Has it never been polled? For whoever has it in hands.
pub(crate) fn is_new(state: &AtomicU32) -> bool {
    state.load(Relaxed) & STATE == NEW
}

/// A closure that runs is watched from now on, or is no more. By its runner. (To a late waker of a
/// future that was in this memory, either is a state in which nothing is to be woken.)
#[inline(always)]
pub(crate) fn set_watched(state: &AtomicU32, is_watched: bool) {
    // Relaxed: who looks has seen that the runner's worker has ended. Nobody else writes: the word
    // of a closure says that nothing is to be woken.
    let now = state.load(Relaxed) & !STATE | if is_watched { WATCHED } else { FREE };
    state.overwrite(now, Relaxed);
}

/// Is it a closure that is watched?
pub(crate) fn is_watched(state: &AtomicU32) -> bool {
    // Relaxed: as above.
    state.load(Relaxed) & STATE == WATCHED
}

/// Does it wait for a wake? A guess, where it may be polled meanwhile.
pub(crate) fn is_idle(state: &AtomicU32) -> bool {
    state.load(Relaxed) & STATE == IDLE
}

/// The poll begins. True: it is the first.
#[inline(always)]
pub(crate) fn start_poll(state: &AtomicU32) -> bool {
    let before = state.load(Relaxed);
    let now = before & !STATE | RUNNING;
    let is_first = before & STATE == NEW;
    if is_first {
        // No waker was given out yet; a read-modify-write would cost 6 ns.
        state.overwrite(now, Relaxed);
    } else if on("poll-stores") {
        state.store(now, Relaxed);
    } else {
        // Acquire: pairs with the Release in `wake`. (Others write the word only as the same
        // generation's wakes.)
        state.swap(now, ord(Acquire, "poll-acquire"));
    }
    is_first
}

/// The poll said "pending". True: it was woken meanwhile, is scheduled again, and the caller queues
/// it.
#[inline(always)]
pub(crate) fn end_poll(state: &AtomicU32) -> bool {
    // Release: what the poll did, for the Acquire of the wake that queues it elsewhere.
    end_poll_by(state, ord(Release, "pending-release"))
}

/// The same of the first poll, which may have missed one of these flags: if it is there, the future
/// is woken. The future may be another worker's by now, and have ended: `flags` stands, as record
/// memory does.
#[inline(always)]
pub(crate) fn end_first_poll(state: &AtomicU32, flags: &AtomicU8, cancelled: u8) -> bool {
    let of = generation(state.load(Relaxed));
    // SeqCst: before the look at the flags. See the header.
    end_poll_by(state, SeqCst)
        || !on("first-poll-checks-once") && flags.load_in_order() & cancelled != 0 && wake(state, of)
}

#[inline(always)]
fn end_poll_by(state: &AtomicU32, order: myriad_base::sys::atomic::Ordering) -> bool {
    let running = state.load(Relaxed) & !STATE | RUNNING;
    match state.compare_exchange(running, running & !STATE | IDLE, order, Relaxed) {
        Ok(_) => false,
        Err(_) => {
            // NOTIFIED, which nobody else changes: a wake leaves it as it is. Relaxed: a
            // read-modify-write, so it hands the wake's Release on to the next poll's Acquire.
            state.swap(running & !STATE | SCHEDULED, Relaxed);
            true
        }
    }
}

/// What a cancellation has found of a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CancelFound {
    /// It waited for a wake. The canceller queues it, and its next poll sees the flag.
    Idle,
    /// It is queued, and its next poll sees the flag.
    Queued,
    /// It is polled, may be in its first poll, or is over: it may be blocked in its own code, which
    /// has perhaps not seen the flag.
    Runs,
}

/// A wake for whatever future is in the record, which the caller has just marked by a SeqCst
/// exchange.
pub(crate) fn for_cancellation(state: &AtomicU32) -> CancelFound {
    // SeqCst: after the flag. See the header.
    let of = generation(state.load(SeqCst));
    match wake_from(state, of) {
        Some(IDLE) => CancelFound::Idle,
        // (The exchange on the word comes before the exchange that begins the poll.)
        Some(SCHEDULED) => CancelFound::Queued,
        Some(_) if on("polled-is-queued") => CancelFound::Queued,
        _ => CancelFound::Runs,
    }
}

/// A wake for the task of this generation. True: the caller queues it.
#[inline(always)]
pub(crate) fn wake(state: &AtomicU32, of: u32) -> bool {
    wake_from(state, of) == Some(IDLE)
}

/// A wake for the task of this generation; the state in which the wake has found it. `None`: there
/// was nothing to wake.
#[inline(always)]
fn wake_from(state: &AtomicU32, of: u32) -> Option<u32> {
    let mut now = state.load(Relaxed);
    loop {
        if generation(now) != of && !on("wake-any-generation") {
            return None;
        }
        let next = match now & STATE {
            IDLE => SCHEDULED,
            RUNNING => NOTIFIED,
            same @ (SCHEDULED | NOTIFIED) => same,
            _ => return None,
        };
        if now & STATE == next && on("wake-only-loads") {
            return Some(next);
        }
        // Release: the waker's data, for the poll's Acquire. Acquire: the future itself, from the
        // worker that polled it last, for whoever drops it unpolled. A read-modify-write even if
        // nothing changes: see the header.
        let order = ord_to(AcqRel, Acquire, "wake-release");
        match state.compare_exchange_weak(now, now & !STATE | next, order, Relaxed) {
            Ok(_) => return Some(now & STATE),
            Err(other) => now = other,
        }
    }
}

/// Takes an idle or scheduled future of this generation out of use, at shutdown. True: the caller
/// drops it.
pub(crate) fn seize(state: &AtomicU32) -> bool {
    let now = state.load(Acquire);
    now & STATE == IDLE && state.compare_exchange(now, now & !STATE | RUNNING, AcqRel, Relaxed).is_ok()
}
