//! `skynet` by Myriad, in all three forms.

// A recursive `async fn` cannot promise that its future is `Send`; `impl Future + Send` can.
#![expect(clippy::manual_async_fn)]

use std::time::Instant;

use myriad::channel::{Sender, bounded};
use myriad::{block_on, spawn, spawn_async};

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn join(p: &Params) -> Outcome {
    // In threads mode too: a child that nobody has begun is joined in place, and the few that are stolen are waited for.
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || join_node(0, n));
        (begin.elapsed(), answer)
    })
}

fn join_node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    let children: [_; 10] = std::array::from_fn(|i| spawn(move || join_node(first + i as u64 * part, part)));
    children.into_iter().map(|c| c.join().unwrap()).sum()
}

pub(super) fn channel(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    host::myriad::waiting(p, super::tasks(p.n))?;
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || {
            let (tx, rx) = bounded(1);
            spawn(move || channel_node(0, n, tx));
            rx.recv().unwrap()
        });
        (begin.elapsed(), answer)
    })
}

fn channel_node(first: u64, leaves: u64, up: Sender<u64>) {
    if leaves == 1 {
        return up.send(first).unwrap();
    }
    let part = leaves / 10;
    let (tx, rx) = bounded(10);
    for i in 0..10 {
        let tx = tx.clone();
        spawn(move || channel_node(first + i * part, part, tx));
    }
    up.send((0..10).map(|_| rx.recv().unwrap()).sum()).unwrap();
}

pub(super) fn future(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || block_on(future_node(0, n)));
        (begin.elapsed(), answer)
    })
}

fn future_node(first: u64, leaves: u64) -> impl Future<Output = u64> + Send {
    async move {
        if leaves == 1 {
            return first;
        }
        let part = leaves / 10;
        let children: [_; 10] = std::array::from_fn(|i| spawn_async(future_node(first + i as u64 * part, part)));
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    }
}
