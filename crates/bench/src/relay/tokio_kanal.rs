//! `relay` by tokio with the channels of kanal.

use std::time::{Duration, Instant};

use kanal::{AsyncReceiver, AsyncSender, bounded_async, unbounded_async};
use tokio::spawn;

use crate::host;
use crate::params::Params;
use crate::payload::{Message, by_payload, total};
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    by_payload!(p, run_with)
}

fn run_with<P: Message>(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || rt.run(once::<P>(p.n, p.m, p.buffer)))
}

fn channel<P>(buffer: Option<usize>) -> (AsyncSender<P>, AsyncReceiver<P>) {
    match buffer {
        None => unbounded_async(),
        Some(slots) => bounded_async(slots),
    }
}

async fn once<P: Message>(n: u64, m: u64, buffer: Option<usize>) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = channel::<P>(buffer);
    for _ in 0..m {
        let (tx, next) = channel(buffer);
        spawn(async move {
            while let Ok(v) = rx.recv().await {
                if tx.send(v).await.is_err() {
                    break;
                }
            }
        });
        rx = next;
    }
    spawn(async move {
        let source = P::source();
        for i in 0..n {
            head.send(P::make(&source, i)).await.ok();
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv().await.unwrap().sum();
    }
    let time = begin.elapsed();
    Failure::check(sum, total::<P>(n))?;
    Ok(time)
}
