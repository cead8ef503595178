//! The mutants of the engine: see `loom/plant.rs`.

use super::plant::{self, Survivor};
use super::scripts;
use myriad_base::sys::fence::Meaning;
use std::path::Path;

/// What no script catches, and why.
const SURVIVORS: &[Survivor] = &[
    ("flag-release", Meaning::PerOwner, FLAG_RELEASE),
    ("flag-release", Meaning::SeqCst, FLAG_RELEASE),
    ("claim-top-release", Meaning::SeqCst, "the full fence of the last push or claim releases what was before it"),
    (
        "stop-light",
        Meaning::SeqCst,
        "the sleeper's full fence acquires what the setter's exchange of its flag released",
    ),
    ("unpark-release", Meaning::SeqCst, "the sleeper's full fence acquires what the injector's released"),
    ("retract-acquire", Meaning::PerOwner, RETRACT),
    ("retract-acquire", Meaning::SeqCst, RETRACT),
];
const RETRACT: &str = "who was woken while announcing searches again, and the deques' locks order what it finds";
const FLAG_RELEASE: &str = "the count must go up before the flag; loom does not reorder read-modify-writes";

#[test]
#[ignore = "takes minutes: scripts/mutants.sh"]
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
    let here = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../core"));
    plant::all_are_planted(scripts(), &[&here.join("src"), &here.join("../base/src"), &here.join("tests/loom")]);
}
