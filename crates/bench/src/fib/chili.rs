//! `fib` by chili.

use std::time::Instant;

use chili::Scope;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::chili::start(p);
    let mut scope = pool.scope();
    super::measure(p, || {
        let begin = Instant::now();
        let answer = fib(&mut scope, p.n);
        (begin.elapsed(), answer)
    })
}

fn fib(scope: &mut Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join(|s| fib(s, n - 1), |s| fib(s, n - 2));
    a + b
}
