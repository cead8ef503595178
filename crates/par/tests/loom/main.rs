//! The loom models of scans: the harness is that of the engine (`crates/core/tests/loom/`, whose
//! `main.rs` has the rules for scripts). Members are foreign threads, and sleep by the mutex and
//! the condition of the locks' crate, which have models of their own.
//!
//! ```text
//! scan        the scripts, without mutants                       scripts/loom.sh
//! mutants::*  every (script, mutant, meaning), one process each  scripts/mutants.sh
//! ```

#![cfg(loom)]
#![allow(unreachable_pub)]

#[path = "../../../core/tests/loom/harness.rs"]
mod harness;
mod mutants;
#[path = "../../../core/tests/loom/plant.rs"]
mod plant;
mod scan;

use harness::*;

fn scripts() -> impl Iterator<Item = &'static Script> {
    scan::SCRIPTS.iter()
}

#[test]
fn scans() {
    check(scan::SCRIPTS);
}
