//! `sieve` by Myriad: closures that block, and futures.

use std::time::{Duration, Instant};

use myriad::channel::{Receiver, Sender, bounded};
use myriad::{block_on, spawn_async};

use super::{SLOTS, odd};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn closure(p: &Params) -> Outcome {
    host::myriad::waiting(p, p.n)?;
    let rt = host::myriad::start(p)?;
    let (n, placed) = (p.n, p.form == "placed-closure");
    super::measure(p, || rt.run(move || closures(n, placed)))
}

pub(super) fn future(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || block_on(futures(n))))
}

/// `placed`: in as many blocks as there are workers.
fn closures(n: u64, placed: bool) -> (Duration, u64) {
    let begin = Instant::now();
    let mut builders = host::myriad::builders(placed, n);
    let mut builder = || builders.next().expect("there is no end of them");
    let (tx, mut rx) = bounded(SLOTS);
    builder().spawn(move || odd().try_for_each(|x| tx.send(x)).ok());
    for _ in 1..n {
        let (tx, next) = bounded(SLOTS);
        builder().spawn(move || filter(rx, tx));
        rx = next;
    }
    let last = rx.recv().unwrap();
    (begin.elapsed(), last)
}

fn filter(rx: Receiver<u64>, tx: Sender<u64>) {
    let Ok(prime) = rx.recv() else { return };
    while let Ok(x) = rx.recv() {
        if x % prime != 0 && tx.send(x).is_err() {
            break;
        }
    }
}

async fn futures(n: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = bounded(SLOTS);
    spawn_async(async move {
        for x in odd() {
            if tx.send_async(x).await.is_err() {
                break;
            }
        }
    });
    for _ in 1..n {
        let (tx, next) = bounded(SLOTS);
        spawn_async(filter_async(rx, tx));
        rx = next;
    }
    let last = rx.recv_async().await.unwrap();
    (begin.elapsed(), last)
}

async fn filter_async(rx: Receiver<u64>, tx: Sender<u64>) {
    let Ok(prime) = rx.recv_async().await else { return };
    while let Ok(x) = rx.recv_async().await {
        if x % prime != 0 && tx.send_async(x).await.is_err() {
            break;
        }
    }
}
