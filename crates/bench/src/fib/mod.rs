//! `fib`: the n-th Fibonacci number by `join(fib(n - 1), fib(n - 2))` without a cutoff.
//!
//! There is nothing in it but forks, so the time against the system `serial`, the same function
//! with two plain calls, is the overhead of a fork. The answer for n = 38 is 39088169. An operation
//! is a fork: `fib(n + 1) - 1` of them.

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod chili;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon;
mod serial;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "fib",
    about: "fib(n) by join without a cutoff; `serial` is the plain function",
    unit: Unit::Per("fork"),
    size: Size::n(30),
    full: Size::n(38),
    takes: Takes::N,
    check,
    forms: &[Form {
        name: "join",
        about: "join of two closures",
        entries: &[
            Entry::new("myriad", ours!(myriad::run)),
            Entry::new("serial", Some(serial::run)).unbound().reference(),
            Entry::new("rayon", peer!(rayon::run)),
            Entry::new("chili", peer!(chili::run)),
        ],
    }],
};

fn check(p: &Params) -> Result<(), String> {
    if (2..=60).contains(&p.n) { Ok(()) } else { Err(format!("fib: n must be from 2 to 60, not {}", p.n)) }
}

/// The n-th Fibonacci number, by addition.
fn fibonacci(n: u64) -> u64 {
    let (mut a, mut b) = (0, 1);
    for _ in 0..n {
        (a, b) = (b, a + b);
    }
    a
}

/// Measures `once`, which returns the time and the answer.
fn measure(p: &Params, mut once: impl FnMut() -> (Duration, u64)) -> Outcome {
    sample::warm(fibonacci(p.n + 1) - 1, || {
        let (time, answer) = once();
        Failure::check(answer, fibonacci(p.n))?;
        Ok(time)
    })
}

#[cfg(test)]
mod test {
    #[test]
    fn the_published_answer() {
        assert_eq!(super::fibonacci(38), 39_088_169);
        assert_eq!(super::fibonacci(2), 1);
    }
}
