//! `chain` by Myriad: closures that block, and futures.

use std::time::{Duration, Instant};

use myriad::channel::bounded;
use myriad::{block_on, spawn, spawn_async};

use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn closure(p: &Params) -> Outcome {
    host::myriad::waiting(p, p.n)?;
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || closures(n)))
}

pub(super) fn future(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || block_on(futures(n))))
}

fn closures(n: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = bounded(1);
    for _ in 0..n {
        let (tx, next) = bounded(1);
        spawn(move || tx.send(rx.recv().unwrap() + 1).unwrap());
        rx = next;
    }
    head.send(0).unwrap();
    let answer: u64 = rx.recv().unwrap();
    let time = begin.elapsed();
    Failure::check(answer, n)?;
    Ok(time)
}

async fn futures(n: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = bounded(1);
    for _ in 0..n {
        let (tx, next) = bounded(1);
        spawn_async(async move { tx.send_async(rx.recv_async().await.unwrap() + 1).await.unwrap() });
        rx = next;
    }
    head.send_async(0).await.unwrap();
    let answer: u64 = rx.recv_async().await.unwrap();
    let time = begin.elapsed();
    Failure::check(answer, n)?;
    Ok(time)
}
