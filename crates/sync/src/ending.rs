//! How something ends of which others may want to be told, for the crates of the house. Not for
//! programs: it may change at any time.
//!
//! What they want stands beside this, under a lock. Who goes there is to [`touch`] first. Who ends
//! needs the lock only if somebody has:
//! ```text
//!  others, under the lock:   touch: word |= TOUCHED; alive, or not told yet? -> their wish is kept
//!  the end, untouched:       ALIVE -> ENDING | ALONE  ..  ENDING | ALONE -> DEAD | ALONE
//!  the end, by the lock:     ALIVE -> ENDING          ..  -> DEAD, and takes the wishes
//! ```
//! **Invariant.** A wish is told by the end, or who has it sees that it comes too late. For all
//! changes are of one word: either the exchange of the end fails, for the word was touched, or
//! `touch` sees what the end has written.
//!
//! **Ordering.** Who sees a stage (Acquire) sees what the end has done before (Release).
//!
//! [`touch`]: EndWord::touch
//!
//! Tests: `crates/sync/tests/loom/ending.rs`; `crates/myriad/tests/actors`.

use myriad_base::sys::atomic::{AtomicU8, Ordering::*};
use myriad_base::sys::mutant::{on, ord};

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It has not begun to end.
    Alive,
    /// It ends.
    Ending,
    /// All have been told, or are being told.
    Dead,
}

const ALIVE: u8 = 0;
const ENDING: u8 = 1;
const DEAD: u8 = 2;
const STAGE: u8 = 3;
/// Somebody else is, or was, under the lock.
const TOUCHED: u8 = 4;
/// It has begun to end untouched.
const ALONE: u8 = 8;

/// See the module's header.
#[derive(Debug)]
pub struct EndWord(AtomicU8);

fn stage_of(word: u8) -> Stage {
    match word & STAGE {
        ALIVE => Stage::Alive,
        ENDING => Stage::Ending,
        _ => Stage::Dead,
    }
}

impl Default for EndWord {
    fn default() -> Self {
        EndWord::new()
    }
}

impl EndWord {
    myriad_base::sys::const_fn! {
        /// Of something that is alive, and nobody has touched.
        pub const fn new() -> EndWord {
            EndWord(AtomicU8::new(ALIVE))
        }
    }

    #[inline(always)]
    fn load(&self) -> u8 {
        // Acquire: pairs with the Release of whoever has set the stage.
        self.0.load(ord(Acquire, "ending-acquire"))
    }

    /// How far it has come.
    #[inline(always)]
    pub fn stage(&self) -> Stage {
        stage_of(self.load())
    }

    /// Has it begun to end untouched? Then nothing of that stands under the lock.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.load() & ALONE != 0
    }

    /// Was it ever touched?
    #[inline(always)]
    pub fn is_touched(&self) -> bool {
        self.load() & TOUCHED != 0
    }

    /// Under the lock: somebody has, or will have, something there. How far it has come.
    pub fn touch(&self) -> Stage {
        let word = self.load();
        if word & TOUCHED != 0 || on("ending-untouched") {
            return stage_of(word);
        }
        // Acquire: as in `load`. (What is written here the end sees by the lock.)
        stage_of(self.0.fetch_or(TOUCHED, ord(Acquire, "ending-touch")))
    }

    /// It begins to end, if nobody has touched it.
    #[inline]
    pub fn begin_alone(&self) -> bool {
        self.0.compare_exchange(ALIVE, ENDING | ALONE, ord(Release, "ending-begin"), Relaxed).is_ok()
    }

    /// It has begun so, and nobody has touched it since: it is dead.
    #[inline]
    pub fn end_alone(&self) -> bool {
        self.0.compare_exchange(ENDING | ALONE, DEAD | ALONE, ord(Release, "ending-end"), Relaxed).is_ok()
    }

    /// Under the lock: it has come so far.
    pub fn set(&self, stage: Stage) {
        let word = match stage {
            Stage::Alive => ALIVE,
            Stage::Ending => ENDING,
            Stage::Dead => DEAD,
        };
        // Relaxed: written under the lock, but for an exchange of the end, which is the caller's.
        let alone = self.0.load(Relaxed) & ALONE;
        self.0.store(word | alone | TOUCHED, ord(Release, "ending-set"));
    }
}
