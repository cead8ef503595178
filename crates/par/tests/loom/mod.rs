//! The loom models of scans: the harness is that of the engine (`crates/core/tests/loom/`, whose `mod.rs` has the rules for scripts).
//! Members are foreign threads, and sleep by the mutex and the condition of the locks' crate, which have models of their own.
//!
//! ```text
//! loom_scan              the scripts, without mutants                      scripts/loom.sh
//! loom_scan_mutants      every (script, mutant, meaning), one process each scripts/mutants.sh
//! ```

#![allow(dead_code, unreachable_pub)] // each test binary uses its part

#[path = "../../../core/tests/loom/harness.rs"]
mod harness;
#[path = "../../../core/tests/loom/plant.rs"]
pub mod plant;
pub mod scan;

pub use harness::*;

pub fn scripts() -> impl Iterator<Item = &'static Script> {
    scan::SCRIPTS.iter()
}
