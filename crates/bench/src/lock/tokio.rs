//! `lock` by two tasks of tokio, with its own channels, whose two kinds are two types.

use std::time::{Duration, Instant};

use tokio::spawn;
use tokio::sync::mpsc::{channel, unbounded_channel};

use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    if p.buffer == Some(0) {
        return Err(Failure::Cannot("the channels of tokio have no rendezvous (a buffer of 0)".into()));
    }
    let rt = host::tokio::start(p);
    super::measure(p, || match p.buffer {
        None => rt.run(unbounded(p.n)),
        Some(slots) => rt.run(bounded(p.n, slots)),
    })
}

async fn bounded(n: u64, slots: usize) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = channel(slots);
    spawn(async move {
        for i in 0..n {
            tx.send(i).await.unwrap();
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv().await.unwrap();
    }
    (begin.elapsed(), sum)
}

async fn unbounded(n: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = unbounded_channel();
    spawn(async move {
        for i in 0..n {
            tx.send(i).unwrap();
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv().await.unwrap();
    }
    (begin.elapsed(), sum)
}
