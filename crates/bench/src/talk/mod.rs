//! Workloads of tasks that talk to each other in a fixed pattern: `pairs`, `hub`, `pipeline`,
//! `tree`, `alltoall`. In each of them tasks wait far more often than they compute.
//!
//! Each pattern is written twice, for closures that block ([`Closures`]) and for futures
//! ([`Futures`]), over the few things that all systems have: spawn, a bounded channel, send and
//! receive. `systems/` says what these are in each system. So all programs of a form are the same,
//! and a new pattern is one file.
//!
//! In the forms `closure` and `future` nothing is said about where a task runs. In `placed-closure`
//! those of Myriad begin in as many blocks as there are workers. The time is from the first spawn
//! until the root has the last result. A task that has a result sends it to the root, which adds up
//! all of them: the answer.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(crate) mod alltoall;
pub(crate) mod hub;
pub(crate) mod pairs;
pub(crate) mod pipeline;
mod systems;
pub(crate) mod tree;

use systems::*;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// The number of the task that sends it.
    from: usize,
    /// What is added up.
    value: u64,
}

/// Where a task stands in a row in which those are near each other that talk to each other.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Its number in the row, from 0.
    index: usize,
    /// How many there are.
    of: usize,
}

/// What a program gives back: its time, when the answer is right.
type Run = Result<Duration, Failure>;

/// What the programs in closures need of a system.
trait Closures: 'static {
    /// A sending end.
    type Tx: Clone + Send + 'static;
    /// The receiving end.
    type Rx: Send + 'static;
    /// A channel of so many slots.
    fn channel(slots: usize) -> (Self::Tx, Self::Rx);
    /// A channel in which there are never more than `most` messages, so that nobody waits to send:
    /// where that is all the same, a system may take an unbounded one.
    fn roomy(most: usize) -> (Self::Tx, Self::Rx) {
        Self::channel(most)
    }
    /// Starts a task, which is at this point of the row of all tasks.
    fn spawn(at: Point, task: impl FnOnce() + Send + 'static);
    /// Waits for a free slot.
    fn send(tx: &Self::Tx, message: Message);
    /// Waits for a message.
    fn recv(rx: &mut Self::Rx) -> Message;
    /// Measures `program`, run by the task that is the root. It has so many `tasks` at a time.
    fn measure(p: &Params, size: Counts, program: fn(usize, u64) -> Run) -> Outcome;
}

/// What the programs in futures need of a system.
trait Futures: 'static {
    /// A sending end.
    type Tx: Clone + Send + Sync + 'static;
    /// The receiving end.
    type Rx: Send + 'static;
    /// A channel of so many slots.
    fn channel(slots: usize) -> (Self::Tx, Self::Rx);
    /// Starts a task.
    fn spawn(task: impl Future<Output = ()> + Send + 'static);
    /// Waits for a free slot.
    fn send(tx: &Self::Tx, message: Message) -> impl Future<Output = ()> + Send;
    /// Waits for a message.
    fn recv(rx: &mut Self::Rx) -> impl Future<Output = Message> + Send;
    /// Measures `program`, run by the task that is the root.
    fn measure<F>(p: &Params, size: Counts, program: fn(usize, u64) -> F) -> Outcome
    where
        F: Future<Output = Run> + Send + 'static;
}

/// A pattern, of the sizes `n` and `m`.
trait Pattern: 'static {
    /// How many tasks and operations it has.
    fn counts(n: u64, m: u64) -> Counts;
    /// The program in closures.
    fn closures<S: Closures>(n: usize, m: u64) -> Run;
    /// The program in futures.
    fn futures<S: Futures>(n: usize, m: u64) -> impl Future<Output = Run> + Send + 'static;
}

/// How much there is of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// Tasks that wait at a time.
    tasks: u64,
    /// What the time is divided by.
    ops: u64,
}

/// Runs a pattern in closures.
fn closures<P: Pattern, S: Closures>(p: &Params) -> Outcome {
    S::measure(p, P::counts(p.n, p.m), P::closures::<S>)
}

/// Runs a pattern in futures.
fn futures<P: Pattern, S: Futures>(p: &Params) -> Outcome {
    S::measure(p, P::counts(p.n, p.m), P::futures::<S>)
}

/// The forms of a pattern, which all have the same systems.
struct Table<P>(P);

impl<P: Pattern> Table<P> {
    const FORMS: &'static [Form] = &[
        Form {
            name: "closure",
            about: "tasks are closures that block",
            entries: &[
                Entry::new("myriad", ours!(closures::<P, Myriad<false>>)).waits(),
                Entry::new("may", peer!(closures::<P, May>)),
            ],
        },
        Form {
            name: "placed-closure",
            about: "the same, in a block for each worker",
            entries: &[
                Entry::new("myriad", ours!(closures::<P, Myriad<true>>)).waits(),
                Entry::new("may", peer!(closures::<P, May>)).extra(),
            ],
        },
        Form {
            name: "future",
            about: "tasks are futures",
            entries: &[
                Entry::new("myriad", ours!(futures::<P, Myriad<false>>)),
                Entry::new("tokio", peer!(futures::<P, Tokio>)),
                Entry::new("tokio-kanal", peer!(futures::<P, TokioKanal>)),
                Entry::new("smol", peer!(futures::<P, Smol>)),
            ],
        },
    ];

    /// The workload.
    const fn workload(name: &'static str, about: &'static str, op: &'static str, sizes: [Size; 2]) -> Workload {
        Workload {
            name,
            about,
            unit: Unit::Per(op),
            size: sizes[0],
            full: sizes[1],
            takes: Takes { m: true, ..Takes::N },
            check,
            forms: Self::FORMS,
        }
    }
}

/// A size of two numbers.
const fn size(n: u64, m: u64) -> Size {
    Size { n, m, buffer: None }
}

/// Refuses what no pattern has.
fn check(p: &Params) -> Result<(), String> {
    const MOST: u64 = 1 << 40;
    match p.workload.as_str() {
        name if p.n == 0 || p.m == 0 || p.n > MOST || p.m > MOST / p.n => {
            Err(format!("{name}: n and m must be at least 1, and n × m at most {MOST}"))
        }
        name @ "tree" if !p.n.is_power_of_two() => {
            Err(format!("{name}: n must be a power of two, such as 256, not {}", p.n))
        }
        name @ "alltoall" if p.n < 2 => Err(format!("{name}: n must be at least 2")),
        _ => Ok(()),
    }
}

/// The sum of `0..n`.
fn sum_below(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}
