//! `overhead` by Myriad.

use std::time::{Duration, Instant};

use myriad::spawn;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn spawned(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || once(n)))
}

fn once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..n)
        .map(|mut x| {
            spawn(move || {
                x += y;
                x
            })
        })
        .collect();
    let sum = tasks.into_iter().map(|t| t.join().unwrap()).sum();
    (begin.elapsed(), sum)
}
