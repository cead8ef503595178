//! `sieve` by smol, with its own channels.

use std::time::{Duration, Instant};

use smol::channel::{Receiver, Sender, bounded};

use super::{SLOTS, odd};
use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    super::measure(p, || pool.run(once(p.n)))
}

async fn once(n: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = bounded(SLOTS);
    spawn(async move {
        for x in odd() {
            if tx.send(x).await.is_err() {
                break;
            }
        }
    })
    .detach();
    for _ in 1..n {
        let (tx, next) = bounded(SLOTS);
        spawn(filter(rx, tx)).detach();
        rx = next;
    }
    let last = rx.recv().await.unwrap();
    (begin.elapsed(), last)
}

async fn filter(rx: Receiver<u64>, tx: Sender<u64>) {
    let Ok(prime) = rx.recv().await else { return };
    while let Ok(x) = rx.recv().await {
        if x % prime != 0 && tx.send(x).await.is_err() {
            break;
        }
    }
}
