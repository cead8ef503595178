//! `fib` by Myriad.

use std::time::Instant;

use myriad::join;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || fib(n));
        (begin.elapsed(), answer)
    })
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}
