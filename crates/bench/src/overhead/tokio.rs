//! `overhead` by tokio.

use std::time::{Duration, Instant};

use tokio::spawn;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || rt.run(once(p.n)))
}

async fn once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..n)
        .map(|mut x| {
            spawn(async move {
                x += y;
                x
            })
        })
        .collect();
    let mut sum = 0;
    for t in tasks {
        sum += t.await.unwrap();
    }
    (begin.elapsed(), sum)
}
