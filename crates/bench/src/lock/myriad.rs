//! `lock` by Myriad: its channels between two OS threads that are no workers, and between two
//! tasks.

use std::time::{Duration, Instant};

use myriad::channel::{Receiver, Sender, bounded, rendezvous, unbounded};

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn threads(p: &Params) -> Outcome {
    super::measure(p, || {
        let begin = Instant::now();
        let (tx, rx) = channel(p.buffer);
        let n = p.n;
        std::thread::spawn(move || send(n, tx));
        let sum = (0..n).map(|_| rx.recv().unwrap()).sum();
        (begin.elapsed(), sum)
    })
}

pub(super) fn tasks(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let (n, buffer) = (p.n, p.buffer);
    super::measure(p, || rt.run(move || two_tasks(n, buffer)))
}

fn two_tasks(n: u64, buffer: Option<usize>) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, rx) = channel(buffer);
    myriad::spawn(move || send(n, tx));
    let sum = (0..n).map(|_| rx.recv().unwrap()).sum();
    (begin.elapsed(), sum)
}

fn channel(buffer: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
    match buffer {
        None => unbounded(),
        Some(0) => rendezvous(),
        Some(slots) => bounded(slots),
    }
}

fn send(n: u64, tx: Sender<u64>) {
    for i in 0..n {
        tx.send(i).unwrap();
    }
}
