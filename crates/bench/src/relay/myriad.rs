//! `relay` by Myriad: closures that block, and futures.

use std::time::{Duration, Instant};

use myriad::channel::{Receiver, Sender, bounded, rendezvous, unbounded};
use myriad::{block_on, spawn, spawn_async};

use crate::host;
use crate::params::Params;
use crate::payload::{Message, by_payload, total};
use crate::record::{Failure, Outcome};

/// In the form `placed-closure`: in as many blocks as there are workers.
pub(super) fn closure(p: &Params) -> Outcome {
    host::myriad::waiting(p, p.m)?;
    by_payload!(p, run_closures)
}

pub(super) fn future(p: &Params) -> Outcome {
    by_payload!(p, run_futures)
}

fn run_closures<P: Message>(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let (n, m, buffer, placed) = (p.n, p.m, p.buffer, p.form == "placed-closure");
    super::measure(p, || rt.run(move || closures::<P>(n, m, buffer, placed)))
}

fn run_futures<P: Message>(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let (n, m, buffer) = (p.n, p.m, p.buffer);
    super::measure(p, || rt.run(move || block_on(futures::<P>(n, m, buffer))))
}

fn channel<P>(buffer: Option<usize>) -> (Sender<P>, Receiver<P>) {
    match buffer {
        None => unbounded(),
        Some(0) => rendezvous(),
        Some(slots) => bounded(slots),
    }
}

fn closures<P: Message>(n: u64, m: u64, buffer: Option<usize>, placed: bool) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let mut builders = host::myriad::builders(placed, m);
    let (head, mut rx) = channel::<P>(buffer);
    for builder in builders.by_ref().take(m as usize) {
        let (tx, next) = channel(buffer);
        builder.spawn(move || {
            while let Ok(v) = rx.recv() {
                if tx.send(v).is_err() {
                    break;
                }
            }
        });
        rx = next;
    }
    spawn(move || {
        let source = P::source();
        for i in 0..n {
            head.send(P::make(&source, i)).ok();
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv().unwrap().sum();
    }
    let time = begin.elapsed();
    Failure::check(sum, total::<P>(n))?;
    Ok(time)
}

async fn futures<P: Message>(n: u64, m: u64, buffer: Option<usize>) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = channel::<P>(buffer);
    for _ in 0..m {
        let (tx, next) = channel(buffer);
        spawn_async(async move {
            while let Ok(v) = rx.recv_async().await {
                if tx.send_async(v).await.is_err() {
                    break;
                }
            }
        });
        rx = next;
    }
    spawn_async(async move {
        let source = P::source();
        for i in 0..n {
            head.send_async(P::make(&source, i)).await.ok();
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        sum += rx.recv_async().await.unwrap().sum();
    }
    let time = begin.elapsed();
    Failure::check(sum, total::<P>(n))?;
    Ok(time)
}
