//! A look at what a task waits for, from any thread, which stops nobody.
//!
//! ```text
//!  task      writes its node; position = node (Release) ... position = RUNS; fence (Release); its frame changes
//!  looker    position: node?; exchange it for node|seen; reads the node; fence (Acquire); still node|seen?
//! ```
//! A task knows nothing of lookers. What was read is true if the bit is still there: it was set
//! after the wait had begun, and the task overwrites the word when it goes on; its next wait, which
//! may be at the same address, comes without the bit. So the bit takes the place of a version, at
//! no cost for the task (on x86; elsewhere a fence when it goes on).
//!
//! A bit that is found says that an earlier look has seen the same wait, which is how a dump knows
//! for how long a task has waited at least: Go's collector marks waits for the same purpose.
//!
//! **Who may look.** One at a time ([`Lookers`]): a bit that a second one has set after a wait has
//! changed would pass for the first one's. The memory of the node must stay mapped meanwhile: see
//! [`read`]; so whose the task is, is known of this same wait before anything is read there. What
//! is read while the task goes on may be anything, so it is read by atomic accesses, as plain
//! numbers, and is not believed before the last look at the word.
//!
//! **Rejected.** A copy of the reason in the record: two instructions for each wait. A request to
//! the home, as for a cancellation: a stuck worker does not answer. A version: a store for each
//! wait.
//!
//! Models: `tests/loom/look.rs`.

use super::parked::Parked;
use super::reason::WaitReason;
use crate::record::header::Header;
use crate::record::peek;
use crate::record::position::{self, Position};
use myriad_base::lock::bias_owner::pause;
use myriad_base::sys::atomic::{Ordering::*, fence};
use myriad_base::sys::fork::{self, Rank};
use myriad_base::sys::mutant::{on, ord};
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::mem::offset_of;

/// The right to look.
#[derive(Debug)]
pub(crate) struct Lookers(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Lookers {
    /// Waits until nobody else looks.
    pub(crate) fn enter() -> Lookers {
        fork::hold(Rank::Looks, || {
            let held = ONE_AT_A_TIME.lock();
            Box::new(|_| drop(held))
        });
        Lookers(ONE_AT_A_TIME.lock())
    }
}

/// How often a look begins anew, because the task goes on and waits again meanwhile.
const TRIES: usize = if cfg!(loom) { 2 } else { 64 };

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look<T> {
    /// The task does not wait: it is queued, or runs.
    No,
    /// Another task runs on top of it.
    Under(*const Header),
    /// It waits, and this was read in its wait; an earlier look has found the same wait.
    Waits(T, bool),
    /// It goes on and waits again, faster than one can look.
    Moves,
    /// It waits, and is another runtime's by now.
    Elsewhere,
}

/// Looks at what the task of this record waits for. The record may become another task's
/// meanwhile: then it is that one.
///
/// `is_ours` says whether the record is of the runtime whose stacks stay; if not, nothing is read
/// in the node. `node` reads there, which may not be a node any more: as numbers, by atomic
/// accesses.
pub(crate) fn look<T>(
    _: &Lookers,
    task: &Header,
    is_ours: impl Fn() -> bool,
    node: impl Fn(*const Parked) -> T,
) -> Look<T> {
    let mut spins = 0;
    // The bit is this look's own. (One look at a time sets bits, and a new wait comes without.)
    let mut mine = false;
    for _ in 0..TRIES {
        // Acquire: the owner and the node, with the Release of who waits. (Another looker's
        // exchange hands that on.)
        let word = task.idx().load(ord(Acquire, "look-acquire"));
        let at = match position::read(word) {
            // A canceller holds it, for some instructions.
            _ if word == position::HELD => {
                pause(&mut spins);
                continue;
            }
            Position::Waits(_, at) => at.cast::<Parked>(),
            Position::Under(_, on_top) => return Look::Under(on_top),
            Position::Unknown | Position::On(_) => return Look::No,
        };
        let seen = position::seen(word);
        // Acquire: as above. (Whoever else has changed the word has seen the node, too.)
        if word != seen && !on("bit-not-set") {
            if task.idx().compare_exchange(word, seen, ord(Acquire, "look-acquire"), Relaxed).is_err() {
                continue;
            }
            mine = !on("look-own-bit");
        }
        let before = word == seen && !mine;
        // Relaxed: it is ordered by a fence.
        let is_there = || task.idx().load(Relaxed) == if on("bit-not-set") { word } else { seen };
        let ours = is_ours();
        if !on("look-owner-fence") {
            // Acquire: as below. The owner that was read is this wait's, if that is there yet.
            fence(Acquire);
        }
        if !is_there() && !on("look-owner-once") {
            continue;
        }
        if !ours {
            return Look::Elsewhere;
        }
        let found = node(at);
        if !on("look-fence") {
            // Acquire: pairs with the Release in `checkpoint::wait_is_over`: what was read, then
            // the word.
            fence(Acquire);
        }
        if on("look-once") || is_there() {
            return Look::Waits(found, before);
        }
    }
    Look::Moves
}

/// The same of a future that waits for its next poll: its last one has noted what that is for.
/// True: an earlier look has found the same wait. `None`: nothing was noted, or the word changes.
pub(crate) fn look_awaited(_: &Lookers, task: &Header) -> Option<(WaitsFor, bool)> {
    // Relaxed: the word says all. Whoever polls overwrites it, with the bit.
    let word = task.idx().load(Relaxed);
    let (reason, object) = position::awaited(word)?;
    let seen = position::seen(word);
    let before = word == seen;
    if !before && task.idx().compare_exchange(word, seen, Relaxed, Relaxed).is_err() {
        return None;
    }
    Some((WaitsFor { reason: WaitReason::of_number(reason), object }, before))
}

/// What stands in the node of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WaitsFor {
    /// Why.
    pub(crate) reason: WaitReason,
    /// The address of what is waited for; 0 where that is not known.
    pub(crate) object: usize,
}

/// Reads in a node.
///
/// # Safety
/// The memory from the node on, as far as the stack goes, stays mapped: the caller has the lock
/// that the end of a stack of the task's pool takes (`Pool::frames_go`), and has found the node,
/// and that the task is that pool's, after it had taken the lock; or the node stands.
pub(crate) unsafe fn read(node: *const Parked) -> WaitsFor {
    let node = node.cast::<u8>();
    // SAFETY: mapped (this function's contract), as the node is.
    let reason = WaitReason::of_number(unsafe { peek::byte(node.wrapping_add(offset_of!(Parked, reason))) });
    // SAFETY: mapped: a wait with such a reason has a word there, in the same frame or the next
    // ones, and a frame that is a node's no more is followed by others, or by the end of its stack,
    // which stands above.
    let object = reason.object_at().map_or(0, |at| unsafe { peek::word(node.wrapping_add(at).cast()) });
    WaitsFor { reason, object }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use crate::queue::records::records;
    use std::cell::Cell;

    #[test]
    fn nothing_is_read_in_a_wait_of_another_runtime() {
        let (node, task, lookers) = (0u64, &records(1)[0], Lookers::enter());
        let waits = position::at(position::here(position::THREADS), &raw const node);
        let no_read = |_: *const Parked| unreachable!("read in memory that may have gone");
        task.idx().store(waits, Relaxed);
        assert_eq!(look(&lookers, task, || false, no_read), Look::<()>::Elsewhere);
        // It was another one's, and is ours since, but does not wait there any more.
        task.idx().store(waits, Relaxed);
        let goes_on = || {
            task.idx().store(position::RUNS, Relaxed);
            true
        };
        assert_eq!(look(&lookers, task, goes_on, no_read), Look::<()>::No);
    }

    #[test]
    fn what_is_read_in_a_wait_that_is_over_is_not_believed() {
        let (node, task, lookers) = (0u64, &records(1)[0], Lookers::enter());
        let waits = position::at(position::here(position::THREADS), &raw const node);
        task.idx().store(waits, Relaxed);
        let reads = Cell::new(0);
        let read = |_: *const Parked| {
            // At the first time it goes on, and waits there again.
            if reads.replace(reads.get() + 1) == 0 {
                task.idx().store(waits, Relaxed);
            }
            reads.get()
        };
        assert_eq!(look(&lookers, task, || true, read), Look::Waits(2, false));
        assert_eq!(look(&lookers, task, || true, read), Look::Waits(3, true));
    }
}
