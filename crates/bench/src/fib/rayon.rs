//! `fib` by rayon.

use std::time::Instant;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::measure(p, || {
        let begin = Instant::now();
        let answer = pool.install(|| fib(p.n));
        (begin.elapsed(), answer)
    })
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| fib(n - 1), || fib(n - 2));
    a + b
}
