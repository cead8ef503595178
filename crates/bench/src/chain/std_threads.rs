//! `chain` by OS threads and the channels of the standard library.

use std::sync::mpsc::sync_channel;
use std::thread::spawn;
use std::time::{Duration, Instant};

use crate::limits;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    limits::threads(p.n)?;
    super::measure(p, || once(p.n))
}

fn once(n: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = sync_channel(1);
    for _ in 0..n {
        let (tx, next) = sync_channel(1);
        spawn(move || tx.send(rx.recv().unwrap() + 1).unwrap());
        rx = next;
    }
    head.send(0).unwrap();
    let answer: u64 = rx.recv().unwrap();
    let time = begin.elapsed();
    Failure::check(answer, n)?;
    Ok(time)
}
