//! The loom models of dataflow, and of the counts of graphs: the harness is that of the engine
//! (`crates/core/tests/loom/`, whose `main.rs` has the rules for scripts). There are no tasks: what
//! is ready is counted.
//!
//! ```text
//! counts,     the scripts, without mutants                       scripts/loom.sh
//! nodes,
//! running
//! mutants::*  every (script, mutant, meaning), one process each  scripts/mutants.sh
//! ```

#![cfg(loom)]
#![allow(unreachable_pub)]

mod counts;
#[path = "../../../core/tests/loom/harness.rs"]
mod harness;
mod mutants;
mod nodes;
#[path = "../../../core/tests/loom/plant.rs"]
mod plant;
mod running;

use harness::*;

fn scripts() -> impl Iterator<Item = &'static Script> {
    nodes::SCRIPTS.iter().chain(running::SCRIPTS).chain(counts::SCRIPTS)
}

#[test]
fn nodes_of_dataflow() {
    check(nodes::SCRIPTS);
}

#[test]
fn bodies_that_are_cancelled() {
    check(running::SCRIPTS);
}

#[test]
fn counts_of_graphs() {
    check(counts::SCRIPTS);
}
