//! `lock` by two OS threads and the channels of crossbeam.

use std::thread::spawn;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, || once(p.n, p.buffer))
}

fn once(n: u64, buffer: Option<usize>) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, rx) = channel(buffer);
    spawn(move || {
        for i in 0..n {
            tx.send(i).unwrap();
        }
    });
    let sum = (0..n).map(|_| rx.recv().unwrap()).sum();
    (begin.elapsed(), sum)
}

fn channel(buffer: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
    match buffer {
        None => unbounded(),
        Some(slots) => bounded(slots),
    }
}
