//! `overhead` by may.

use std::time::{Duration, Instant};

use may::coroutine::spawn;

use crate::params::Params;
use crate::record::Outcome;
use crate::{host, limits};

pub(super) fn run(p: &Params) -> Outcome {
    limits::may(p.n)?;
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || may.run(move || once(n)))
}

fn once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..n)
        .map(|mut x| {
            let task = move || {
                x += y;
                x
            };
            // SAFETY: no thread-local values, no deep calls (host/may.rs).
            unsafe { spawn(task) }
        })
        .collect();
    let sum = tasks.into_iter().map(|t| t.join().unwrap()).sum();
    (begin.elapsed(), sum)
}
