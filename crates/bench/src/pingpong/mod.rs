//! `pingpong`: two tasks and two one-slot channels; a ball goes there and back `n` times.
//!
//! The answerer adds 1 to the ball's count, the server checks it at each return; the answer is `n`.
//!
//! With one worker both tasks are on it. With more, in the forms `closure` and `future`, each task
//! keeps its worker busy when it starts until the other one does so too. So the match begins on two
//! workers; the clock starts then.
//!
//! In the forms `natural-closure` and `natural-future` nothing is forced, as in a program that just
//! spawns two tasks. Where they begin is then the scheduler's choice as well. A closure that has
//! begun stays on its thread, so that choice counts for the whole match: read the shortest and the
//! longest time beside the median.
//!
//! In the form `placed-closure` Myriad is told to begin both on one worker.
//!
//! Where the tasks go afterwards is the scheduler's choice (several systems move a woken task to
//! the waker's worker). The ball therefore carries the thread of its sender, and the `note` of the
//! result says in which share of the returns the two were on different threads.

use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::host::meeting::Meeting;
use crate::host::spot;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod crossbeam;
#[cfg(feature = "peers")]
mod kanal;
#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "pingpong",
    about: "two tasks and two one-slot channels, n round trips",
    unit: Unit::Per("trip"),
    size: Size::n(3_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "closure",
            about: "the two are closures that block",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)),
                Entry::new("crossbeam", peer!(crossbeam::run)).unbound(),
                Entry::new("kanal", peer!(kanal::run)).unbound(),
                Entry::new("std", Some(std_threads::run)).unbound(),
            ],
        },
        Form {
            name: "future",
            about: "the two are futures",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("tokio-current", peer!(tokio::run)).single(),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
        Form {
            name: "natural-closure",
            about: "two closures, wherever they happen to begin",
            entries: &[Entry::new("myriad", ours!(myriad::closure)).waits(), Entry::new("may", peer!(may::run))],
        },
        Form {
            name: "placed-closure",
            about: "two closures that are told to begin on one worker",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)).extra(),
            ],
        },
        Form {
            name: "natural-future",
            about: "two futures, wherever they happen to begin",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
    ],
};

/// Where the two meet before they begin: nowhere, in the forms where nobody forces them apart.
#[cfg(any(feature = "ours", feature = "peers"))]
fn meeting(p: &Params) -> Meeting {
    Meeting::new(if p.form.starts_with("natural") || p.form.starts_with("placed") { 1 } else { p.workers })
}

/// What is sent to and fro.
#[derive(Clone, Copy, Debug)]
struct Ball {
    count: u64,
    thread: usize,
}

impl Ball {
    /// The ball as the server first holds it.
    fn new() -> Self {
        Ball { count: 0, thread: spot::thread() }
    }

    /// Adds 1 and notes where it is sent from.
    fn hit(self) -> Self {
        Ball { count: self.count + 1, thread: spot::thread() }
    }
}

/// What the server keeps: the clock, and the returns from another thread.
#[derive(Debug)]
struct Score {
    begin: Instant,
    returns: u64,
    across: u64,
}

impl Score {
    /// Starts the clock.
    fn start() -> Self {
        Score { begin: Instant::now(), returns: 0, across: 0 }
    }

    /// Notes a return.
    fn returned(&mut self, ball: Ball) {
        self.returns += 1;
        self.across += u64::from(ball.thread != spot::thread());
    }

    /// Stops the clock and checks that the ball was hit `n` times on each side but the server's
    /// last.
    fn end(self, ball: Ball, n: u64) -> Match {
        let time = self.begin.elapsed();
        Failure::check(ball.count, n)?;
        Ok((time, self.across as f64 / self.returns as f64))
    }
}

/// The time of `n` round trips, and the share of returns from another thread.
type Match = Result<(Duration, f64), Failure>;

/// Measures tasks of a pool, and notes where they were when they could be in several places.
#[cfg(any(feature = "ours", feature = "peers"))]
fn measure(p: &Params, mut once: impl FnMut() -> Match) -> Outcome {
    let mut shares = Vec::new();
    let mut measured = measure_threads(p, || {
        let (time, share) = once()?;
        shares.push(share);
        Ok((time, share))
    })?;
    if p.workers > 1 {
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        measured.note = Some(format!("on different threads in {:.0} % of the round trips", mean * 100.0));
    }
    Ok(measured)
}

/// Measures OS threads, which are where they are.
fn measure_threads(p: &Params, mut once: impl FnMut() -> Match) -> Outcome {
    sample::warm(p.n, || once().map(|(time, _)| time))
}
