//! `skynet` by rayon's scopes: a task per node, and a slot for each child's sum.

use std::time::Instant;

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
    let mut sums = [0; 10];
    rayon::scope(|s| {
        for (i, sum) in sums.iter_mut().enumerate() {
            s.spawn(move |_| *sum = node(first + i as u64 * part, part));
        }
    });
    sums.into_iter().sum()
}
