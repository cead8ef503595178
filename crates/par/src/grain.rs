//! How much to do before the next check for idle workers, and whether it is worth while to split.
//!
//! The unit is an iteration of a loop, or a leaf of a reduction. A grain that was not given is
//! found by the processor's counter: one iteration first, then as many as take about a microsecond.
//! So a check (some nanoseconds) costs nothing beside them, a thief waits a microsecond, and few
//! heavy iterations are given away one by one.
//!
//! **Nobody splits what is soon done.** What is left must be worth the handing over: microseconds
//! if the thief is awake, more if it has to be woken. So a loop of a hundred short iterations stays
//! where it is, whoever is idle.
//!
//! **Rejected.** A fixed grain: 64 costs nested loops of heavy bodies their balance, and empty
//! bodies 5 %. To split at once, before anything is measured: ten times the price for short loops
//! in a program with idle workers, and at most one iteration is won. Proportional control of the
//! size: a division of 64 bits is 20 ns on older processors.

use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_core::engine::split::{IdleWorkers, idle_workers};

/// A piece takes about so long: between half and twice that.
const PIECE_US: u64 = 1;
/// What is left is worth a split, if it takes so long,
const WORTH_US: u64 = 2;
/// and so long if somebody has to be woken for it.
const WORTH_A_WAKE_US: u64 = 20;
/// The size is found when so many pieces have taken long enough in a row. (One may have, because of
/// a page that was not there, or because the thread was interrupted.)
const SETTLED: u8 = 3;

/// See the module's header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grain {
    size: usize,
    is_given: bool,
    piece_us: u64,
    worth_a_wake_us: u64,
    settles_first: bool,
    /// So many pieces, one after the other, have taken long enough.
    settled: u8,
    /// When the last piece ended, if the next one follows at once: the counter is dear, and read
    /// once for each piece.
    since: Option<u64>,
}

/// A piece that is under way.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) len: usize,
    began: u64,
}

impl Grain {
    /// As given, or to be found.
    pub(crate) fn new(given: Option<usize>) -> Grain {
        Grain {
            size: given.unwrap_or(1),
            is_given: given.is_some(),
            piece_us: PIECE_US,
            worth_a_wake_us: WORTH_A_WAKE_US,
            settles_first: false,
            settled: 0,
            since: None,
        }
    }

    /// To be found, with pieces that take so long; and no split before it is: for those who want to
    /// know the size that such pieces have. Somebody is woken for what takes as long as said, or
    /// longer.
    pub(crate) fn of_pieces(us: u64, worth_a_wake_us: u64) -> Grain {
        Grain { piece_us: us, worth_a_wake_us, settles_first: true, ..Grain::new(None) }
    }

    /// For a part that begins later.
    pub(crate) fn for_a_part(self) -> Grain {
        Grain { since: None, ..self }
    }

    /// How large a piece is by now.
    pub(crate) fn size(self) -> usize {
        self.size
    }

    /// Is it to be split before anything has run? Only with a given grain: else nobody knows what
    /// it is worth.
    #[inline]
    pub(crate) fn is_split_due_at_once(self, left: usize) -> bool {
        self.is_given && left > self.size && idle_workers() != IdleWorkers::None
    }

    /// Begins the next piece of what is left.
    #[inline(always)]
    pub(crate) fn begin(self, left: usize) -> Piece {
        let began = if self.is_given { 0 } else { self.since.unwrap_or_else(ticks) };
        Piece { len: self.size.min(left), began }
    }

    /// It is done, and so much is left. True: that is to be split.
    #[inline(always)]
    pub(crate) fn end(&mut self, piece: Piece, left: usize) -> bool {
        if self.is_given {
            return self.is_split_due_at_once(left);
        }
        let now = ticks();
        self.since = Some(now);
        let took = now.saturating_sub(piece.began);
        let target = ticks_per_us() * self.piece_us;
        if took < target / 2 {
            let faster = if took < target / 32 { 16 } else { 2 };
            self.size = self.size.saturating_mul(faster);
        } else if took > target * 2 {
            self.size = (self.size / if took > target * 32 { 16 } else { 2 }).max(1);
        }
        if self.settles_first && !self.has_settled(took >= target / 2) {
            return false;
        }
        // (One that is left is no two halves.)
        left > 1
            && match idle_workers() {
                IdleWorkers::None => false,
                IdleWorkers::Awake => is_worth(WORTH_US, took, piece.len, left),
                IdleWorkers::Asleep => is_worth(self.worth_a_wake_us, took, piece.len, left),
            }
    }
}

impl Grain {
    /// Has the size been found? The last piece has taken long enough, or not.
    fn has_settled(&mut self, long_enough: bool) -> bool {
        self.settled = if long_enough { self.settled.saturating_add(1) } else { 0 };
        self.settled >= SETTLED
    }
}

/// Does what is left take so long, if it goes on as the last piece did?
#[cold]
fn is_worth(us: u64, took: u64, len: usize, left: usize) -> bool {
    took as f64 * left as f64 >= (us * ticks_per_us()) as f64 * len as f64
}

#[cfg(test)]
mod test {
    use super::Grain;

    /// One element that took long, at the very beginning, once made blocks of two elements out of
    /// fifty million.
    #[test]
    fn one_slow_piece_settles_nothing() {
        let mut grain = Grain::of_pieces(4, 20);
        assert!(!grain.has_settled(true));
        assert!(!grain.has_settled(false));
        assert!(!grain.has_settled(true) && !grain.has_settled(true));
        assert!(grain.has_settled(true) && grain.has_settled(true));
        assert!(!grain.has_settled(false));
    }
}
