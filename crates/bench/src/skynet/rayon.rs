//! `skynet` by rayon's parallel iterators, which split lazily and make no task per node.

use std::time::Instant;

use rayon::prelude::*;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::measure(p, || {
        let begin = Instant::now();
        let answer = pool.install(|| node(0, p.n));
        (begin.elapsed(), answer)
    })
}

fn node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    (0..10u64).into_par_iter().map(|i| node(first + i * part, part)).sum()
}
