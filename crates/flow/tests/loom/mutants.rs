//! The mutants of dataflow: see `plant.rs` beside the models of the engine.

use crate::plant::{self, Survivor};
use crate::scripts;
use std::path::Path;

/// What no script catches: none.
const SURVIVORS: &[Survivor] = &[];

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
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../flow"));
    plant::all_are_planted(scripts(), &[&here.join("src")]);
}
