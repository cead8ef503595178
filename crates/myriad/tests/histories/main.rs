//! Histories: random programs on every object that waits, and what their operations have said,
//! against a sequential machine.
//!
//! ```text
//!  object ── calls ──> program (2..4 actors × 2..5 calls)
//!     │                     └── runs on threads, closures, futures ──> history
//!     └──── model ────────────────────────────> is there an order that explains it?
//! ```
//! See `README.md` beside this folder. To add an object: a file in `objects/`, and a line in
//! [`objects::all`].
//!
//! | variable | |
//! |---|---|
//! | `MYRIAD_HISTORY_SECONDS` | how long all objects are tested together: 6 unless set |
//! | `MYRIAD_HISTORY_ONLY` | only objects whose name contains this |
//! | `MYRIAD_HISTORY_SEED` | the seed of the programs |
//! | `MYRIAD_HISTORY_PROGRAM` | the seed of one program, which is run again and again |
//! | `MYRIAD_TEST_PATIENCE` | seconds after which a program hangs |
//!
//! *Source.* J. M. Wing, C. Gong: Testing and verifying concurrent objects, 1993.

#[path = "../common/mod.rs"]
mod common;

mod check;
mod faults;
mod go;
mod model;
mod object;
mod objects;
mod place;
mod print;
mod rounds;
mod search;
mod self_test;

use check::Tally;
use common::Rng;
use std::time::{Duration, Instant};

fn variable<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

fn seconds() -> f64 {
    variable("MYRIAD_HISTORY_SECONDS").unwrap_or(6.0)
}

/// The seed of all programs, which is printed.
fn seed() -> u64 {
    let seed = variable("MYRIAD_HISTORY_SEED")
        .unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().map_or(1, |t| t.as_nanos() as u64 % 1_000_000_007));
    println!("MYRIAD_HISTORY_SEED={seed}");
    seed
}

/// Each object in turn, until the time is over.
#[test]
fn every_object() {
    common::quiet();
    let only: String = variable("MYRIAD_HISTORY_ONLY").unwrap_or_default();
    let objects: Vec<_> = objects::all().into_iter().filter(|object| object.name().contains(&only)).collect();
    assert!(!objects.is_empty(), "no object is called `{only}`");
    let (mut rng, program) = (Rng(seed()), variable("MYRIAD_HISTORY_PROGRAM"));
    // Go's semantics has the rest.
    let end = Instant::now() + Duration::from_secs_f64(seconds() * 0.85);
    let mut tallies = vec![Tally::default(); objects.len()];
    while Instant::now() < end {
        for (object, tally) in objects.iter().zip(&mut tallies) {
            for _ in 0..object.weight() {
                object.check(program.unwrap_or_else(|| rng.next()), tally);
            }
        }
        if std::env::var_os("MYRIAD_HISTORY_FIRST").is_some() && tallies.iter().any(|tally| tally.wrong > 0) {
            break;
        }
    }
    let mut wrong = String::new();
    println!("{:24} {:>10} {:>8} {:>8}", "object", "histories", "wrong", "unknown");
    for (object, tally) in objects.iter().zip(&tallies) {
        println!("{:24} {:>10} {:>8} {:>8}", object.name(), tally.histories, tally.wrong, tally.unknown);
        wrong.extend(tally.first.as_deref());
        assert!(tally.unknown * 20 <= tally.histories, "the search is too slow for {}", object.name());
    }
    let all: usize = tallies.iter().map(|tally| tally.histories).sum();
    println!("{all} histories");
    assert!(wrong.is_empty(), "{wrong}");
}

/// Programs of two channels say nothing that Go's semantics does not let them say.
#[test]
fn outcomes_of_go() {
    common::quiet();
    go::check(seed(), variable("MYRIAD_HISTORY_PROGRAM"), seconds() * 0.15).unwrap_or_else(|text| panic!("{text}"));
}
