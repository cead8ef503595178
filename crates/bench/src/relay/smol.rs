//! `relay` by smol, with its own channels.

use std::time::{Duration, Instant};

use smol::channel::{Receiver, Sender, bounded, unbounded};

use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::payload::{Message, by_payload, total};
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    if p.buffer == Some(0) {
        return Err(Failure::Cannot("the channels of smol have no rendezvous (a buffer of 0)".into()));
    }
    by_payload!(p, run_with)
}

fn run_with<P: Message>(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    super::measure(p, || pool.run(once::<P>(p.n, p.m, p.buffer)))
}

fn channel<P>(buffer: Option<usize>) -> (Sender<P>, Receiver<P>) {
    match buffer {
        None => unbounded(),
        Some(slots) => bounded(slots),
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
        })
        .detach();
        rx = next;
    }
    spawn(async move {
        let source = P::source();
        for i in 0..n {
            head.send(P::make(&source, i)).await.ok();
        }
    })
    .detach();
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv().await.unwrap().sum();
    }
    let time = begin.elapsed();
    Failure::check(sum, total::<P>(n))?;
    Ok(time)
}
