//! The loom models of channels and locks: the harness is that of the engine
//! (`crates/core/tests/loom/`, whose `main.rs` has the rules for scripts), with foreign threads and
//! hand-made wakers. The lock below is never biased here: it has models of its own.
//!
//! ```text
//! channels, locks  their scripts, without mutants (select's and observables' with the channels',
//!                  inboxes', answers' and ends' with the locks')                                  scripts/loom.sh
//! mutants::*       every (script, mutant, meaning), one process each                            scripts/mutants.sh
//! ```

#![cfg(loom)]
#![allow(unreachable_pub)]

mod answer;
mod channel;
mod ending;
#[path = "../../../core/tests/loom/harness.rs"]
mod harness;
mod inbox;
mod locks;
mod mutants;
mod observable;
mod peek;
#[path = "../../../core/tests/loom/plant.rs"]
mod plant;
mod select;

use harness::*;

/// What these have in common: each thread is an owner of a light fence (mutexes have those), and
/// sleepers spin, since loom's `unpark` would order what a wake must not need to.
const SYNC: Script = Script { owners: 2, spins: true, ..SCRIPT };

fn scripts() -> impl Iterator<Item = &'static Script> {
    let of_channels = [channel::SCRIPTS, peek::SCRIPTS, select::SCRIPTS, observable::SCRIPTS];
    of_channels.into_iter().chain([locks::SCRIPTS, inbox::SCRIPTS, answer::SCRIPTS, ending::SCRIPTS]).flatten()
}

#[test]
fn channels() {
    check(channel::SCRIPTS);
    check(peek::SCRIPTS);
    check(select::SCRIPTS);
    check(observable::SCRIPTS);
}

#[test]
fn locks() {
    check(locks::SCRIPTS);
    check(inbox::SCRIPTS);
    check(answer::SCRIPTS);
    check(ending::SCRIPTS);
}
