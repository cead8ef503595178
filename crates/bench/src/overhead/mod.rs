//! `overhead`: one task makes `n` tiny tasks and waits for all of them.
//!
//! A tiny task is `x += y` on its own `x`; the answer is the sum of all `x`. In the form `spawn`
//! each is a task with a handle that gives its `x` back, or, where the system has scopes instead of
//! handles, a task that writes its `x` into a slot of its own; in `dataflow`, a node; in `job`, a
//! job of a queue that asks for a processor. In the forms `loop` and `nested` they are iterations
//! of parallel loops ([`looped`]). The pool is warm, and the median of several repeats is taken.

use std::hint::black_box;
use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

mod looped;
#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon_scope;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "overhead",
    about: "one task makes n tiny tasks (x += y) and waits for all",
    unit: Unit::Per("task"),
    size: Size::n(10_000),
    full: Size::n(100_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "spawn",
            about: "each is a task of its own",
            entries: &[
                Entry::new("myriad", ours!(myriad::spawned)),
                Entry::new("rayon-scope", peer!(rayon_scope::run)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("tokio-current", peer!(tokio::run)).single().extra(),
                Entry::new("smol", peer!(smol::run)),
                Entry::new("may", peer!(may::run)),
                Entry::new("std", Some(std_threads::run)).unbound().extra(),
            ],
        },
        Form {
            name: "dataflow",
            about: "each is a node whose value is joined",
            entries: &[Entry::new("myriad", ours!(myriad::nodes)), Entry::new("tokio", peer!(tokio::run))],
        },
        Form {
            name: "job",
            about: "each is a job of a queue that asks for a processor, joined when all have ended",
            entries: &[Entry::new("myriad", ours!(myriad::jobs))],
        },
        Form { name: "loop", about: "each is an iteration of one parallel loop, and does nothing", entries: &LOOPS },
        Form { name: NESTED, about: "the same with a loop in a loop, each of sqrt(n)", entries: &LOOPS },
    ],
};

/// The name of the form with loops in loops.
const NESTED: &str = "nested";

/// Who has parallel loops. (The iterations are no tasks: each system splits them as it likes.)
static LOOPS: [Entry; 4] = [
    Entry::new("myriad", ours!(looped::myriad::run)),
    Entry::new("serial", Some(looped::serial::run)).unbound().reference(),
    Entry::new("rayon", peer!(looped::rayon::run)),
    Entry::new("chili", peer!(looped::chili::run)),
];

/// What is added: unknown to the compiler.
fn y() -> u64 {
    black_box(1)
}

/// The answer for `n` tasks whose `x` are 0, 1, 2, …
fn answer(n: u64) -> u64 {
    n * (n - 1) / 2 + n
}

/// Measures `once`, which returns the time and the sum.
fn measure(p: &Params, mut once: impl FnMut() -> (Duration, u64)) -> Outcome {
    sample::warm(p.n, || {
        let (time, sum) = once();
        Failure::check(sum, answer(p.n))?;
        Ok(time)
    })
}
