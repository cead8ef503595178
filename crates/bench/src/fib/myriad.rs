//! `fib` by Myriad.

use std::time::Instant;

use myriad::join;

use crate::host;
use crate::live::{self, Alive};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    let measured = super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || if p.live { counted_fib(n) } else { fib(n) });
        (begin.elapsed(), answer)
    });
    measured.map(|m| live::counted(p, m))
}

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// The same, and counts: the second closure of each `join` is the task.
fn counted_fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let alive = Alive::<true>::new();
    let second = || {
        let _alive = alive;
        counted_fib(n - 2)
    };
    let (a, b) = join(|| counted_fib(n - 1), second);
    a + b
}
