//! `overhead` by OS threads.

use std::thread::spawn;
use std::time::{Duration, Instant};

use crate::limits;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    limits::threads(p.n)?;
    super::measure(p, || once(p.n))
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
