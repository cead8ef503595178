//! `chain` by smol, with its own channels.

use std::time::{Duration, Instant};

use smol::channel::bounded;

use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    super::measure(p, || pool.run(once(p.n)))
}

async fn once(n: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = bounded(1);
    for _ in 0..n {
        let (tx, next) = bounded(1);
        spawn(async move { tx.send(rx.recv().await.unwrap() + 1).await.unwrap() }).detach();
        rx = next;
    }
    head.send(0).await.unwrap();
    let answer: u64 = rx.recv().await.unwrap();
    let time = begin.elapsed();
    Failure::check(answer, n)?;
    Ok(time)
}
