//! The loom models of dataflow: the harness is that of the engine (`crates/core/tests/loom/`, whose
//! `main.rs` has the rules for scripts). There are no tasks: what is ready is counted.
//!
//! ```text
//! nodes       the scripts, without mutants                       scripts/loom.sh
//! mutants::*  every (script, mutant, meaning), one process each  scripts/mutants.sh
//! ```

#![cfg(loom)]
#![allow(unreachable_pub)]

#[path = "../../../core/tests/loom/harness.rs"]
mod harness;
mod mutants;
mod nodes;
#[path = "../../../core/tests/loom/plant.rs"]
mod plant;

use harness::*;

fn scripts() -> impl Iterator<Item = &'static Script> {
    nodes::SCRIPTS.iter()
}

#[test]
fn nodes_of_dataflow() {
    check(nodes::SCRIPTS);
}
