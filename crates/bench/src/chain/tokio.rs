//! `chain` by tokio, with its own channels.

use std::time::{Duration, Instant};

use tokio::spawn;
use tokio::sync::mpsc::channel;

use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || rt.run(once(p.n)))
}

async fn once(n: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = channel(1);
    for _ in 0..n {
        let (tx, next) = channel(1);
        spawn(async move { tx.send(rx.recv().await.unwrap() + 1).await.unwrap() });
        rx = next;
    }
    head.send(0).await.unwrap();
    let answer: u64 = rx.recv().await.unwrap();
    let time = begin.elapsed();
    Failure::check(answer, n)?;
    Ok(time)
}
