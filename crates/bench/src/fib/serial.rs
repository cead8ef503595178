//! `fib` with two plain calls.

use std::hint::black_box;
use std::time::Instant;

use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, || {
        let begin = Instant::now();
        let answer = fib(black_box(p.n));
        (begin.elapsed(), answer)
    })
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    // The `black_box` keeps the compiler from turning one of the two calls into a loop.
    let (a, b) = (fib(black_box(n - 1)), fib(n - 2));
    a + b
}
