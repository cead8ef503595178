//! `lock` by two OS threads and the channels of the standard library, whose two kinds come in as
//! functions.

use std::sync::mpsc;
use std::thread::spawn;
use std::time::{Duration, Instant};

use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, || match p.buffer {
        None => once(p.n, mpsc::channel(), |tx, i| tx.send(i).unwrap()),
        Some(slots) => once(p.n, mpsc::sync_channel(slots), |tx, i| tx.send(i).unwrap()),
    })
}

fn once<S: Send + 'static>(
    n: u64,
    (tx, rx): (S, mpsc::Receiver<u64>),
    send: impl Fn(&S, u64) + Send + 'static,
) -> (Duration, u64) {
    let begin = Instant::now();
    spawn(move || {
        for i in 0..n {
            send(&tx, i);
        }
    });
    let sum = (0..n).map(|_| rx.recv().unwrap()).sum();
    (begin.elapsed(), sum)
}
