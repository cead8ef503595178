//! Foreign code at its worst, at each place where the engine runs foreign code.
//!
//! ```text
//!  place × behaviour          what is expected stands in table.rs
//!        × 1 or 2 workers × both modes × who calls: a task, a thread, a task with a thread of its own,
//!                                                   a task whose runtime is being shut down
//! ```
//! A *storm* runs cells at random beside each other, in one runtime.
//!
//! After each cell every value has been dropped once, and each worker of the runtime answers.
//!
//! **To add a place**: a function in `places/`, and a row in [`table`].
//!
//! | variable | |
//! |---|---|
//! | `MYRIAD_HOSTILE_ONLY` | only units whose name (`topic::place/mode/workers`) contains this |
//! | `MYRIAD_HOSTILE_NOT` | not places whose name contains this |
//! | `MYRIAD_HOSTILE_MODE` | only this mode: `fiber` or `threads` |
//! | `MYRIAD_HOSTILE_WHOLE` | all units, which takes minutes |
//! | `MYRIAD_HOSTILE_SECONDS`, `MYRIAD_HOSTILE_SEED` | units at random for so long (10 s else), and storms |
//! | `MYRIAD_HOSTILE_JOBS` | processes at a time |
//! | `MYRIAD_HOSTILE_WRAPPER` | a command that the processes of the cells are started with |
//! | `MYRIAD_HOSTILE_REPORT` | a file for the list of failures |
//! | `MYRIAD_TEST_PATIENCE` | seconds after which a cell hangs |

#[path = "../common/mod.rs"]
mod common;

mod behaviours;
mod cell;
mod places;
mod run;
mod storm;
mod table;

/// All cells.
#[test]
fn matrix() {
    run::be_child();
    let tally = run::matrix();
    let failures = tally.failures();
    if let Ok(file) = std::env::var("MYRIAD_HOSTILE_REPORT") {
        std::fs::write(file, &failures).unwrap();
    }
    assert!(failures.is_empty(), "{} cells failed:\n{failures}", tally.failures);
    assert!(tally.cells() > 0, "nothing was run");
}

/// All at random, at the same time.
#[test]
fn storm() {
    storm::be_child();
    storm::storms();
}
