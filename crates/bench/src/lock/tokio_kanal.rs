//! `lock` by two tasks of tokio with the channels of kanal.

use std::time::{Duration, Instant};

use kanal::{AsyncReceiver, AsyncSender, bounded_async, unbounded_async};
use tokio::spawn;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || rt.run(once(p.n, p.buffer)))
}

async fn once(n: u64, buffer: Option<usize>) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, rx) = channel(buffer);
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

fn channel(buffer: Option<usize>) -> (AsyncSender<u64>, AsyncReceiver<u64>) {
    match buffer {
        None => unbounded_async(),
        Some(slots) => bounded_async(slots),
    }
}
