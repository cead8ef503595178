//! `job`: `n` jobs of a queue that adds up, each with a priority, resources and a place in order.
//!
//! A job is `x += y` on a sum of all. In the form `submit` they are submitted while they run; in
//! `held` all stand in the queue, at 100 priorities, before the first begins; in `chained` each
//! depends on the one before; in `blocked` as many jobs that do not fit wait meanwhile, all before
//! them in order. As a line to compare with stand tasks of Myriad that are spawned and joined.
//!
//! In `command` a hundredth of `n` programs (`/bin/true`) run one after the other, each a job; as a
//! line to compare with stand the same ones, started and waited for by std alone.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours};

#[cfg(feature = "ours")]
mod myriad;
mod programs;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "job",
    about: "n jobs of a queue with priorities, resources and dependencies",
    unit: Unit::Per("job"),
    size: Size::n(100_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "submit",
            about: "submitted while they run",
            entries: &[
                Entry::new("myriad", ours!(myriad::submit)),
                Entry::new("tasks", ours!(myriad::tasks)).unbound().reference(),
            ],
        },
        Form {
            name: "held",
            about: "all stand in the queue, at 100 priorities, before the first begins",
            entries: &[
                Entry::new("myriad", ours!(myriad::held)),
                Entry::new("tasks", ours!(myriad::tasks)).unbound().reference(),
            ],
        },
        Form {
            name: "chained",
            about: "each depends on the one before",
            entries: &[Entry::new("myriad", ours!(myriad::chained))],
        },
        Form {
            name: "blocked",
            about: "as many that do not fit wait, before them in order",
            entries: &[Entry::new("myriad", ours!(myriad::blocked))],
        },
        Form {
            name: "command",
            about: "programs, n / 100 of them, one after the other",
            entries: &[
                Entry::new("myriad", ours!(myriad::command)),
                Entry::new("std", Some(programs::run)).unbound().reference(),
            ],
        },
    ],
};
