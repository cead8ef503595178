//! `select` by Myriad: closures in tasks.

use std::time::Duration;

use myriad::channel::{Receiver, Sender, bounded, unbounded};
use myriad::select;
use myriad::select::Select;

use super::{Sum, channel};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn two(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| rt.run(move || once_two(n)))
}

pub(super) fn eight(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| rt.run(move || once_eight(n)))
}

pub(super) fn dynamic(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| rt.run(move || once_dynamic(n)))
}

pub(super) fn waiting(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |n| rt.run(move || once_waiting(n)))
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
            m = r0.recv() => sum.add(m.unwrap(), 0, 2),
            m = r1.recv() => sum.add(m.unwrap(), 1, 2),
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

fn once_dynamic(n: u64) -> (Duration, u64) {
    let (tx, rx) = channels::<8>();
    let mut select = Select::new();
    for (i, rx) in rx.iter().enumerate() {
        select.recv(rx, move |m| (m.unwrap(), i));
    }
    let mut sum = Sum::start();
    for i in 0..n {
        tx[channel(i, 8)].send(i).unwrap();
        let (m, from) = select.wait();
        sum.add(m, from, 8);
    }
    sum.end()
}

fn once_waiting(n: u64) -> (Duration, u64) {
    let mut sum = Sum::start();
    let ((t0, r0), (t1, r1)) = (bounded(1), bounded(1));
    let sender = myriad::spawn(move || {
        for i in 0..n {
            let tx = if channel(i, 2) == 0 { &t0 } else { &t1 };
            tx.send(i).unwrap();
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
    sender.join().unwrap();
    result
}
