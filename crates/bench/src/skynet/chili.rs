//! `skynet` by chili, which has only `join` of two: ten children are halved until one is left. No
//! task per node.

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
        let answer = node(&mut scope, 0, p.n);
        (begin.elapsed(), answer)
    })
}

fn node(scope: &mut Scope<'_>, first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    children(scope, first, leaves / 10, 0, 10)
}

/// The sum of the children `from..to`.
fn children(scope: &mut Scope<'_>, first: u64, part: u64, from: u64, to: u64) -> u64 {
    if to - from == 1 {
        return node(scope, first + from * part, part);
    }
    let mid = (from + to) / 2;
    let (a, b) = scope.join(|s| children(s, first, part, from, mid), |s| children(s, first, part, mid, to));
    a + b
}
