//! `overhead` by rayon: a scope and `spawn`, which has no handles, so each task writes its `x`
//! where it came from.

use std::time::{Duration, Instant};

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::measure(p, || pool.install(|| once(p.n)))
}

fn once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let begin = Instant::now();
    let mut xs: Vec<_> = (0..n).collect();
    rayon::scope(|s| {
        for x in &mut xs {
            s.spawn(move |_| *x += y);
        }
    });
    let sum = xs.into_iter().sum();
    (begin.elapsed(), sum)
}
