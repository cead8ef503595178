//! `scan`: the prefix sums of `n` integers of 64 bits, in place, and beside them what memory
//! allows.
//!
//! The form `sum` has each system's own sum where it has one; the form `generic` hands all of them
//! a closure. `limit` reads each element, changes it and writes it back, with as many threads as
//! there are workers, and does nothing else: nobody can be faster but by better prefetching.
//! `serial` is the loop that everybody writes. `rayon` has no scan; its program is the usual one
//! with two passes. The answer is the last prefix and some in between.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{memory, processor, sample};

mod limit;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon;
mod serial;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "scan",
    about: "prefix sums of n integers, in place; `limit` only reads and writes them",
    unit: Unit::Per("element"),
    size: Size::n(2_000_000),
    full: Size::n(50_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "sum",
            about: "the sum that the system knows",
            entries: &[
                Entry::new("myriad", ours!(myriad::sum)),
                Entry::new("limit", Some(limit::run)).reference(),
                Entry::new("serial", Some(serial::run)).unbound().reference(),
                Entry::new("rayon", peer!(rayon::run)),
            ],
        },
        Form {
            name: "generic",
            about: "a closure that adds",
            entries: &[
                Entry::new("myriad", ours!(myriad::generic)),
                Entry::new("limit", Some(limit::run)).reference(),
                Entry::new("serial", Some(serial::run)).unbound().reference(),
                Entry::new("rayon", peer!(rayon::run)),
            ],
        },
    ],
};

/// Element `i`: small, and not all the same.
fn element(i: u64) -> u64 {
    i % 7
}

/// The sum of elements `0..=i`.
fn prefix(i: u64) -> u64 {
    let (weeks, rest) = ((i + 1) / 7, (i + 1) % 7);
    weeks * 21 + rest * rest.saturating_sub(1) / 2
}

/// Measures `scan`, which gets fresh elements each time and returns how long it took.
fn measure(p: &Params, mut scan: impl FnMut(&mut [u64]) -> Duration) -> Outcome {
    let n = p.n;
    let mut xs = vec![0; usize::try_from(n).map_err(|_| Failure::Wrong(format!("{n} elements are too many")))?];
    memory::huge_pages(&mut xs);
    sample::warm(n, || {
        processor::untimed(|| xs.iter_mut().zip(0..).for_each(|(x, i)| *x = element(i)));
        let time = scan(&mut xs);
        for i in [0, n / 3, n / 2, n - 1] {
            Failure::check(xs[i as usize], prefix(i))?;
        }
        Ok(time)
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_answer_is_the_serial_one() {
        let mut sum = 0;
        for i in 0..100 {
            sum += element(i);
            assert_eq!(prefix(i), sum, "{i}");
        }
    }
}
