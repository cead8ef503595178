//! `sieve` by tokio, with its own channels.

use std::time::{Duration, Instant};

use tokio::spawn;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::{SLOTS, odd};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || rt.run(once(p.n)))
}

async fn once(n: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = channel(SLOTS);
    spawn(async move {
        for x in odd() {
            if tx.send(x).await.is_err() {
                break;
            }
        }
    });
    for _ in 1..n {
        let (tx, next) = channel(SLOTS);
        spawn(filter(rx, tx));
        rx = next;
    }
    let last = rx.recv().await.unwrap();
    (begin.elapsed(), last)
}

async fn filter(mut rx: Receiver<u64>, tx: Sender<u64>) {
    let Some(prime) = rx.recv().await else { return };
    while let Some(x) = rx.recv().await {
        if x % prime != 0 && tx.send(x).await.is_err() {
            break;
        }
    }
}
