//! The loom models of channels and locks: the harness is that of the engine (`crates/core/tests/loom/`, whose `mod.rs` has the rules for
//! scripts), with foreign threads and hand-made wakers. The lock below is never biased here: it has models of its own.
//!
//! ```text
//! loom_channel, loom_locks  their scripts (select's and boards' with the channels'), without mutants    scripts/loom.sh
//! loom_channel_mutants      every (script, mutant, meaning), one process each                            scripts/mutants.sh
//! ```

#![allow(dead_code, unreachable_pub)] // each test binary uses its part

pub mod board;
pub mod channel;
#[path = "../../../core/tests/loom/harness.rs"]
mod harness;
pub mod locks;
pub mod look;
#[path = "../../../core/tests/loom/plant.rs"]
pub mod plant;
pub mod select;

pub use harness::*;

/// What these have in common: each thread is an owner of a light fence (mutexes have those), and sleepers spin, since loom's
/// `unpark` would order what a wake must not need to.
pub const SYNC: Script = Script { owners: 2, spins: true, ..SCRIPT };

pub fn scripts() -> impl Iterator<Item = &'static Script> {
    [channel::SCRIPTS, look::SCRIPTS, select::SCRIPTS, board::SCRIPTS, locks::SCRIPTS].into_iter().flatten()
}
