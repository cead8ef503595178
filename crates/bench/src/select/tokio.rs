//! `select` by tasks of tokio, with its channels and its macro.

use std::time::Duration;

use tokio::select;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, channel as bounded, unbounded_channel};

use super::{Sum, channel};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn two(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, |n| rt.run(once_two(n)))
}

pub(super) fn eight(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, |n| rt.run(once_eight(n)))
}

pub(super) fn waiting(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, |n| rt.run(once_waiting(n)))
}

fn channels<const N: usize>() -> ([UnboundedSender<u64>; N], [UnboundedReceiver<u64>; N]) {
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for _ in 0..N {
        let (t, r) = unbounded_channel();
        tx.push(t);
        rx.push(r);
    }
    (tx.try_into().unwrap(), rx.try_into().unwrap())
}

async fn once_two(n: u64) -> (Duration, u64) {
    let (tx, [mut r0, mut r1]) = channels::<2>();
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, 2)].send(i).unwrap();
        select! {
            m = r0.recv() => sum.add(m.unwrap(), 0, 2),
            m = r1.recv() => sum.add(m.unwrap(), 1, 2),
        }
    }
    sum.end()
}

async fn once_eight(n: u64) -> (Duration, u64) {
    let (tx, [mut r0, mut r1, mut r2, mut r3, mut r4, mut r5, mut r6, mut r7]) = channels::<8>();
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, 8)].send(i).unwrap();
        select! {
            m = r0.recv() => sum.add(m.unwrap(), 0, 8),
            m = r1.recv() => sum.add(m.unwrap(), 1, 8),
            m = r2.recv() => sum.add(m.unwrap(), 2, 8),
            m = r3.recv() => sum.add(m.unwrap(), 3, 8),
            m = r4.recv() => sum.add(m.unwrap(), 4, 8),
            m = r5.recv() => sum.add(m.unwrap(), 5, 8),
            m = r6.recv() => sum.add(m.unwrap(), 6, 8),
            m = r7.recv() => sum.add(m.unwrap(), 7, 8),
        }
    }
    sum.end()
}

async fn once_waiting(n: u64) -> (Duration, u64) {
    let mut sum = Sum::start();
    let ((t0, mut r0), (t1, mut r1)) = (bounded(1), bounded(1));
    let sender = tokio::spawn(async move {
        for i in 0..n {
            let tx = if channel(i, 2) == 0 { &t0 } else { &t1 };
            tx.send(i).await.unwrap();
        }
        // The ends stay until all is received: a closed channel is ready.
        (t0, t1)
    });
    for _ in 0..n {
        select! {
            m = r0.recv() => sum.add(m.unwrap(), 0, 2),
            m = r1.recv() => sum.add(m.unwrap(), 1, 2),
        }
    }
    let result = sum.end();
    sender.await.unwrap();
    result
}
