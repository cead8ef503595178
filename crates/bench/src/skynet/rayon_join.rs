//! `skynet` by `rayon::join`: each node halves its ten children down to one. A task for each half
//! that is not the caller's.

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
    children(first, leaves / 10, 0, 10)
}

/// The sum of the children `from..to`.
fn children(first: u64, part: u64, from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return node(first + from * part, part);
    }
    let mid = (from + to) / 2;
    let (a, b) = rayon::join(|| children(first, part, from, mid), || children(first, part, mid, to));
    a + b
}
