//! `lock` by two tasks of smol, with its own channels.

use std::time::{Duration, Instant};

use smol::channel::{Receiver, Sender, bounded, unbounded};

use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    if p.buffer == Some(0) {
        return Err(Failure::Cannot("the channels of smol have no rendezvous (a buffer of 0)".into()));
    }
    let pool = host::smol::start(p);
    super::measure(p, || pool.run(once(p.n, p.buffer)))
}

async fn once(n: u64, buffer: Option<usize>) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, rx) = channel(buffer);
    spawn(async move {
        for i in 0..n {
            tx.send(i).await.unwrap();
        }
    })
    .detach();
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv().await.unwrap();
    }
    (begin.elapsed(), sum)
}

fn channel(buffer: Option<usize>) -> (Sender<u64>, Receiver<u64>) {
    match buffer {
        None => unbounded(),
        Some(slots) => bounded(slots),
    }
}
