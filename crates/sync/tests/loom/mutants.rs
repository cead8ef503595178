//! The mutants of channels and locks: see `plant.rs` beside the models of the engine.

use crate::plant::{self, Survivor};
use crate::scripts;
use myriad_base::sys::fence::Meaning;
use std::path::Path;

/// What no script catches, and why.
const SURVIVORS: &[Survivor] = &[(
    "begin-no-heavy",
    Meaning::SeqCst,
    "the unlocker's plain store is an exchange in a model (sys::atomic), which with its full fence needs no other",
)];

#[test]
#[ignore = "takes a minute: scripts/mutants.sh"]
fn every_mutant_is_caught() {
    plant::each(scripts(), SURVIVORS);
}

#[test]
fn one_case() {
    plant::one_case(scripts());
}

#[test]
fn every_mutant_has_a_script() {
    // The manifest is that of crates/models.
    let caller = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../sync"));
    plant::all_are_planted(scripts(), &[&caller.join("src"), &caller.join("tests/loom")]);
}
