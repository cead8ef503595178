//! Where a started task is, in one word of its record: the word that was its position in a deque.
//!
//! ```text
//!  63      62 ... 48, 1   47 ... 3   2      0
//!  1       home's number  address    seen   0: of the node that its stack waits at
//!                                           1: of the task that runs on top of it
//!  1       all ones          minus: the worker's word for the task on top of which it runs, having
//!                            been claimed by a join; or the address of its frame; or of the
//!                            context of a future that waits for its next poll
//!  1       0x7fc0 and    address    seen   what a future waits for between two polls, and for
//!          a reason                        which reason; as its last poll has noted
//!  all ones: it runs, or is a future between two polls                    all ones but the last: held (threads mode)
//! ```
//! *On top*: a join that claims its task leaves where it came from, and a flag, and that is all
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
//! no safe place to look from. There whoever looks *holds* the position, and a task that goes on
//! takes it back with an exchange, and waits while it is held: so anybody may look, and no request
//! is sent. (Blocking costs microseconds there.) All its workers have one number, [`THREADS`], so a
//! word says by itself whether its position may be held.
//!
//! **A word outlives its task** in the eyes of whoever holds an old address: the record may be
//! another task's by now, of another runtime. So a worker of fiber mode has a number which no other
//! worker of the process ever has: a word with this number was written by this worker, on this
//! thread, and says what is so now.
//!
//! *What a future waits for* is a note for dumps, that nobody else reads: its next poll, or
//! whatever comes next, overwrites the word.
//!
//! *Seen*: a bit that whoever looks at a wait from outside sets in the word, by an exchange
//! (`queue::look`). The task's home never reads it: it overwrites the whole word when the task goes
//! on, and writes the next wait without it. So as long as the bit is there, the wait is the same.
//!
//! **Rejected.** A word of its own: records are 64 bytes. A list of blocked tasks: four cold lines
//! for each block. Only tasks that are asked for it: any `JoinHandle` can cancel. A worker's index
//! in its runtime: a record that was used again by another runtime named a worker of the same
//! index there, and to ask the record for its runtime first was a second look, at another time.

use crate::record::current::CurrentTask;
use crate::record::header::Header;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// `idx` of a record that nobody claims.
pub(crate) const UNCLAIMED: usize = usize::MAX;
const STARTED: usize = 1 << 63;
const UNDER: usize = 1;
/// The home's number: its upper part stands above the address, its lower part in bits that are 0 in
/// the address of a node or of a record.
const HIGH: u32 = 48;
const LOW: u32 = 1;
const LOW_BITS: u32 = 1;
/// Somebody has looked at this wait.
const SEEN: usize = 1 << (LOW + LOW_BITS);
const ADDRESS: usize = (1 << HIGH) - (SEEN << 1);
const NO_HOME: usize = 0x7fff;
/// It runs. No position in a deque, so that nobody claims it: least of all a future, which is
/// queued again.
pub(crate) const RUNS: usize = UNCLAIMED;
/// Somebody looks at what its task waits for, which does not go on meanwhile.
pub(crate) const HELD: usize = usize::MAX - 1;

/// The number of all workers in threads mode.
pub(crate) const THREADS: u32 = 0;
/// In the place of a home's number: this and the number of a reason.
const AWAITS: usize = 0x7fc0;
/// So many reasons have room there.
pub(crate) const REASONS: usize = 32;
/// As many workers as have numbers of their own: what is above says something else.
const NUMBERS: u32 = (AWAITS << LOW_BITS) as u32 - 1;
const _: () = assert!(AWAITS + REASONS <= NO_HOME);

/// Numbers for `n` workers of fiber mode, one after the other: the first one. `None`: there are not
/// so many left in this process. (Workers are never freed, only used again, and so are numbers.)
pub(crate) fn numbers(n: usize) -> Option<u32> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    take_numbers(&TAKEN, n)
}

fn take_numbers(taken: &AtomicU32, n: usize) -> Option<u32> {
    let n = u32::try_from(n).ok()?;
    // Relaxed: a number says nothing about what its worker has written.
    let before =
        taken.fetch_update(Relaxed, Relaxed, |taken| Some(taken.checked_add(n)?).filter(|&end| end <= NUMBERS));
    before.ok().map(|before| THREADS + 1 + before)
}

/// What the words of the blocked tasks of the worker with this number have in common.
pub(crate) fn here(number: u32) -> usize {
    assert!(number <= NUMBERS, "the number of a worker is one of `numbers`");
    let number = number as usize;
    STARTED | number >> LOW_BITS << HIGH | (number & ((1 << LOW_BITS) - 1)) << LOW
}

/// The word of a task that waits at this node.
#[inline(always)]
pub(crate) fn at<Parked>(here: usize, node: *const Parked) -> usize {
    const { assert!(align_of::<Parked>() > SEEN) };
    here | node.expose_provenance()
}

/// The word of a task on top of which this one runs.
#[inline(always)]
pub(crate) fn under(here: usize, task: *const Header) -> usize {
    const { assert!(align_of::<Header>() > SEEN) };
    here | task.expose_provenance() | UNDER
}

/// The word of a task that begins on top of this one.
#[inline(always)]
pub(crate) fn on(below: CurrentTask) -> usize {
    // Addresses have 48 bits at most: the upper ones are all set. (Nothing needs provenance where
    // that is not so.)
    below.expose().wrapping_neg()
}

/// The word of a task that has this frame.
#[inline(always)]
pub(crate) fn framed<Frame>(frame: *const Frame) -> usize {
    frame.expose_provenance().wrapping_neg()
}

/// The address of the frame, by the word of a task that runs and has, or has left, a frame.
#[inline(always)]
pub(crate) fn frame(word: usize) -> Option<usize> {
    (word != RUNS).then(|| word.wrapping_neg())
}

/// The word of a future between two polls: why it waits, and the address of what it waits for (0:
/// that is not known).
#[inline(always)]
pub(crate) fn awaits(reason: u8, object: *const ()) -> usize {
    debug_assert!(usize::from(reason) < REASONS && object.addr() & !ADDRESS == 0);
    STARTED | (AWAITS + usize::from(reason)) << HIGH | object.addr()
}

/// Reads such a word.
pub(crate) fn awaited(word: usize) -> Option<(u8, usize)> {
    let reason = ((word & !STARTED) >> HIGH).checked_sub(AWAITS).filter(|reason| *reason < REASONS)?;
    (word & STARTED != 0).then_some((reason as u8, word & ADDRESS))
}

/// The word of a wait, when somebody has looked at it.
#[inline(always)]
pub(crate) fn seen(word: usize) -> usize {
    word | SEEN
}

/// What a word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// It has not begun, or runs, or is a future between two polls.
    Unknown,
    /// It runs, or is about to block for the first time, on top of what has this
    /// [word](CurrentTask), or in this frame.
    On(usize),
    /// It is set aside, on the worker of this number, at this node (`queue::parked`, which this
    /// floor does not know).
    Waits(u32, *const ()),
    /// Another task runs on top of it, on the worker of this number.
    Under(u32, *const Header),
}

/// Reads a word.
pub(crate) fn read(word: usize) -> Position {
    if word >= HELD || word & STARTED == 0 {
        return Position::Unknown;
    }
    if awaited(word).is_some() {
        return Position::Unknown;
    }
    let (high, low) = ((word & !STARTED) >> HIGH, word >> LOW & ((1 << LOW_BITS) - 1));
    let (home, address) = ((high << LOW_BITS | low) as u32, word & ADDRESS);
    if high == NO_HOME {
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
        for home in [THREADS, 1, 2, 3, 4, 5, NUMBERS - 1, NUMBERS] {
            let word = at(here(home), &node);
            for word in [word, seen(word), seen(seen(word))] {
                assert_eq!(read(word), Position::Waits(home, (&raw const node).cast()));
            }
            assert_ne!(seen(word), word);
            assert_eq!(read(under(here(home), task)), Position::Under(home, task));
        }
        assert_eq!(read(on(CurrentTask::of_task(task.cast_mut()))), Position::On(task.addr()));
        for position in [RUNS, 0, 1 << 40, HELD] {
            assert_eq!(read(position), Position::Unknown);
        }
    }

    #[test]
    fn what_a_future_waits_for() {
        let lock = 0u64;
        for reason in [0, 1, REASONS as u8 - 1] {
            for object in [std::ptr::null(), (&raw const lock).cast()] {
                let word = awaits(reason, object);
                assert_eq!(awaited(word), Some((reason, object.addr())));
                assert_eq!(awaited(seen(word)), awaited(word));
                assert_ne!(seen(word), word);
                assert_eq!(read(word), Position::Unknown);
            }
        }
        let words =
            [at(here(NUMBERS), &lock), on(CurrentTask::of_task(0x7fff_ffff_ffc0usize as *mut Header)), RUNS, HELD];
        assert!(words.into_iter().chain([0, 7]).all(|word| awaited(word).is_none()));
    }

    #[test]
    fn no_two_workers_have_one_number() {
        let (first, second) = (numbers(3).unwrap(), numbers(2).unwrap());
        assert!(first > THREADS && second >= first + 3 && numbers(1).unwrap() >= second + 2);

        let taken = AtomicU32::new(NUMBERS - 2);
        assert_eq!(take_numbers(&taken, 3), None);
        assert_eq!(take_numbers(&taken, usize::MAX), None);
        assert_eq!(take_numbers(&taken, 2), Some(NUMBERS - 1));
        assert_eq!(take_numbers(&taken, 1), None);
        assert_eq!(take_numbers(&taken, 0), Some(NUMBERS + 1));
    }
}
