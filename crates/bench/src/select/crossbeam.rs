//! `select` by OS threads and the channels of crossbeam.

use std::time::Duration;

use crossbeam_channel::{Receiver, Select, Sender, bounded, select, unbounded};

use super::{Sum, channel};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn two(p: &Params) -> Outcome {
    super::measure(p, once_two)
}

pub(super) fn eight(p: &Params) -> Outcome {
    super::measure(p, once_eight)
}

pub(super) fn dynamic(p: &Params) -> Outcome {
    super::measure(p, once_dynamic)
}

pub(super) fn waiting(p: &Params) -> Outcome {
    super::measure(p, once_waiting)
}

fn channels<const N: usize>() -> ([Sender<u64>; N], [Receiver<u64>; N]) {
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for _ in 0..N {
        let (t, r) = unbounded();
        tx.push(t);
        rx.push(r);
    }
    (tx.try_into().unwrap(), rx.try_into().unwrap())
}

fn once_two(n: u64) -> (Duration, u64) {
    let (tx, [r0, r1]) = channels::<2>();
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, 2)].send(i).unwrap();
        select! {
            recv(r0) -> m => sum.add(m.unwrap(), 0, 2),
            recv(r1) -> m => sum.add(m.unwrap(), 1, 2),
        }
    }
    sum.end()
}

fn once_eight(n: u64) -> (Duration, u64) {
    let (tx, [r0, r1, r2, r3, r4, r5, r6, r7]) = channels::<8>();
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, 8)].send(i).unwrap();
        select! {
            recv(r0) -> m => sum.add(m.unwrap(), 0, 8),
            recv(r1) -> m => sum.add(m.unwrap(), 1, 8),
            recv(r2) -> m => sum.add(m.unwrap(), 2, 8),
            recv(r3) -> m => sum.add(m.unwrap(), 3, 8),
            recv(r4) -> m => sum.add(m.unwrap(), 4, 8),
            recv(r5) -> m => sum.add(m.unwrap(), 5, 8),
            recv(r6) -> m => sum.add(m.unwrap(), 6, 8),
            recv(r7) -> m => sum.add(m.unwrap(), 7, 8),
        }
    }
    sum.end()
}

fn once_dynamic(n: u64) -> (Duration, u64) {
    let (tx, rx) = channels::<8>();
    let mut select = Select::new();
    for rx in &rx {
        select.recv(rx);
    }
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, 8)].send(i).unwrap();
        let operation = select.select();
        let from = operation.index();
        sum.add(operation.recv(&rx[from]).unwrap(), from, 8);
    }
    sum.end()
}

fn once_waiting(n: u64) -> (Duration, u64) {
    let mut sum = Sum::start();
    let ((t0, r0), (t1, r1)) = (bounded(1), bounded(1));
    let sender = std::thread::spawn(move || {
        for i in 0..n {
            let tx = if channel(i, 2) == 0 { &t0 } else { &t1 };
            tx.send(i).unwrap();
        }
        // The ends stay until all is received: a closed channel is ready.
        (t0, t1)
    });
    for _ in 0..n {
        select! {
            recv(r0) -> m => sum.add(m.unwrap(), 0, 2),
            recv(r1) -> m => sum.add(m.unwrap(), 1, 2),
        }
    }
    let result = sum.end();
    sender.join().unwrap();
    result
}
