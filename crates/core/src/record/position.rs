//! Where a started task is, in one word of its record: the word that was its position in a deque.
//!
//! ```text
//!  63      62 ... 48      47 ... 1   0
//!  1       home's index   address    0: of the node that its stack waits at    1: of the task that runs on top of it
//!  1       all ones       minus the worker's word for the task on top of which it runs, having been claimed by a join; or the
//!                         address of its frame; or of the context of a future that waits for its next poll
//!  all ones: it runs, or is a future between two polls                    all ones but the last: held (threads mode)
//! ```
//! *On top*: a join that claims its task leaves where it came from, and a mark, and that is all
//! that it pays. When a task on top of others blocks for the first time, those below get to know
//! who stands on them ([`crate::sched::cancel::checkpoint`]).
//!
//! **Why here.** A blocked task must be found from its record, and blocking takes a few
//! nanoseconds. The position has done its duty when the task is started, and a word with the
//! topmost bit set is above every `top`, so that
//! [`Deque::claim`](crate::queue::deque::Deque::claim) says no. The price is a store when a task
//! blocks, and one when it goes on.
//!
//! **Who may touch what.** The task's home writes the word, while it has the task. Anybody who
//! knows that the record is one of type-stable memory may read it, but only the home may follow the
//! address, and only while the task cannot go on.
//!
//! *In threads mode* a ready task may be taken over by another worker, so that the home's loop is
//! no safe place to look from. There whoever looks *holds* the place, and a task that goes on takes
//! it back with an exchange, and waits while it is held: so anybody may look, and no request is
//! sent. (Blocking costs microseconds there.)
//!
//! **Rejected.** A word of its own: records are 64 bytes. A list of blocked tasks: four cold lines
//! for each block. Only tasks that are asked for it: any `JoinHandle` can cancel.

use crate::record::current::CurrentTask;
use crate::record::header::Header;

/// `idx` of a record that nobody claims.
pub(crate) const UNCLAIMED: usize = usize::MAX;
const STARTED: usize = 1 << 63;
const HOME: u32 = 48;
const UNDER: usize = 1;
const ADDRESS: usize = (1 << HOME) - 1 - UNDER;
const NO_HOME: usize = 0x7fff;
/// It runs. No position in a deque, so that nobody claims it: least of all a future, which is
/// queued again.
pub(crate) const RUNS: usize = UNCLAIMED;
/// Somebody looks at what its task waits for, which does not go on meanwhile.
pub(crate) const HELD: usize = usize::MAX - 1;

/// What the words of this worker's blocked tasks have in common.
pub(crate) fn here(index: usize) -> usize {
    // All ones are `UNCLAIMED`.
    assert!(index < NO_HOME, "the index of a worker has 15 bits");
    STARTED | index << HOME
}

/// The word of a task that waits at this node.
#[inline(always)]
pub(crate) fn at<Parked>(here: usize, node: *const Parked) -> usize {
    here | node.expose_provenance()
}

/// The word of a task on top of which this one runs.
#[inline(always)]
pub(crate) fn under(here: usize, task: *const Header) -> usize {
    here | task.expose_provenance() | UNDER
}

/// The word of a task that begins on top of this one.
#[inline(always)]
pub(crate) fn on(below: CurrentTask) -> usize {
    // Addresses have 47 bits: the upper ones are all set. (Nothing needs provenance where that is
    // not so.)
    below.expose().wrapping_neg()
}

/// The word of a task that has this frame.
#[inline(always)]
pub(crate) fn framed<Frame>(frame: *const Frame) -> usize {
    frame.expose_provenance().wrapping_neg()
}

/// What a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// It has not begun, or runs.
    Unknown,
    /// It runs, or is about to block for the first time, on top of what has this
    /// [word](CurrentTask), or in this frame.
    On(usize),
    /// It is set aside, on the worker of this index, at this node (`queue::parked`, which this
    /// floor does not know).
    Waits(usize, *const ()),
    /// Another task runs on top of it, on the worker of this index.
    Under(usize, *const Header),
}

/// Reads a word.
pub(crate) fn read(word: usize) -> Position {
    if word >= HELD || word & STARTED == 0 {
        return Position::Unknown;
    }
    let (home, address) = ((word & !STARTED) >> HOME, word & ADDRESS);
    if home == NO_HOME {
        Position::On(word.wrapping_neg())
    } else if word & UNDER == 0 {
        Position::Waits(home, std::ptr::with_exposed_provenance(address))
    } else {
        Position::Under(home, std::ptr::with_exposed_provenance(address))
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    #[test]
    fn words_say_what_was_written() {
        let node = 0u64;
        let task = 0x7fff_ffff_ffc0usize as *const Header;
        for home in [0, 1, 0x7ffe] {
            assert_eq!(read(at(here(home), &node)), Position::Waits(home, (&raw const node).cast()));
            assert_eq!(read(under(here(home), task)), Position::Under(home, task));
        }
        assert_eq!(read(on(CurrentTask::of_task(task.cast_mut()))), Position::On(task.addr()));
        for position in [RUNS, 0, 1 << 40, HELD] {
            assert_eq!(read(position), Position::Unknown);
        }
    }
}
