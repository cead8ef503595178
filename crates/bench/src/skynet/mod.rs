//! `skynet`: the root makes 10 tasks, each makes 10, … down to `n` leaves.
//!
//! A leaf gives its ordinal to its parent, a parent the sum of its ten children; the answer for
//! 1,000,000 leaves (and so 1,111,111 tasks) is 499999500000. The pool is warm, and the median of
//! several repeats is taken.
//!
//! Forms: `join` gives the result through the task's handle, or through a slot that the parent
//! lends where the system has scopes; `channel` sends it into a channel of ten slots that the
//! parent made; `future` is `join` for futures. `rayon-join` makes a tree of binary `join`s, one
//! fewer than there are leaves. `rayon` (parallel iterators) and `chili` split lazily: they make no
//! task per node, and are shown as such.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod chili;
#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon;
#[cfg(feature = "peers")]
mod rayon_join;
#[cfg(feature = "peers")]
mod rayon_scope;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "skynet",
    about: "a tree of tasks, ten children each, down to n leaves (a power of 10)",
    unit: Unit::Per("task"),
    size: Size::n(100_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check,
    forms: &[
        Form {
            name: "join",
            about: "results come through handles",
            entries: &[
                Entry::new("myriad", ours!(myriad::join)),
                Entry::new("rayon-scope", peer!(rayon_scope::run)),
                Entry::new("rayon-join", peer!(rayon_join::run)),
                Entry::new("tokio", peer!(tokio::join)),
                Entry::new("smol", peer!(smol::join)).extra(),
                Entry::new("may", peer!(may::join)).extra(),
                Entry::new("std", Some(std_threads::join)).unbound().extra(),
                Entry::new("rayon", peer!(rayon::run)).lazy(),
                Entry::new("chili", peer!(chili::run)).lazy(),
            ],
        },
        Form {
            name: "channel",
            about: "results go up through channels",
            entries: &[
                Entry::new("myriad", ours!(myriad::channel)).waits(),
                Entry::new("tokio", peer!(tokio::channel)),
                Entry::new("smol", peer!(smol::channel)),
                Entry::new("may", peer!(may::channel)).extra(),
                Entry::new("std", Some(std_threads::channel)).unbound().extra(),
            ],
        },
        Form {
            name: "future",
            about: "tasks are futures, results come through handles",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::join)),
                Entry::new("tokio-current", peer!(tokio::join)).single(),
                Entry::new("smol", peer!(smol::join)),
            ],
        },
    ],
};

fn check(p: &Params) -> Result<(), String> {
    let mut n = p.n;
    while n > 1 && n.is_multiple_of(10) {
        n /= 10;
    }
    if n != 1 { Err(format!("skynet: n must be a power of 10, such as 100000, not {}", p.n)) } else { Ok(()) }
}

/// How many tasks a tree with `leaves` leaves has.
fn tasks(leaves: u64) -> u64 {
    (leaves * 10 - 1) / 9
}

/// Measures `once`, which returns the time and the answer.
fn measure(p: &Params, mut once: impl FnMut() -> (Duration, u64)) -> Outcome {
    sample::warm(tasks(p.n), || {
        let (time, answer) = once();
        Failure::check(answer, p.n * (p.n - 1) / 2)?;
        Ok(time)
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_million_leaves_need_the_published_number_of_tasks() {
        assert_eq!(tasks(1_000_000), 1_111_111);
        assert_eq!(tasks(1), 1);
    }

    #[test]
    fn only_powers_of_ten() {
        let sized = |n| check(&Params { n, ..Params::new(&WORKLOAD, &WORKLOAD.forms[0], "rayon", 1) });
        assert!(sized(1).is_ok() && sized(1000).is_ok());
        assert!(sized(0).is_err() && sized(20).is_err() && sized(1001).is_err());
    }
}
