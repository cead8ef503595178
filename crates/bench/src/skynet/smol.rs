//! `skynet` by smol: tasks that are awaited, and tasks that send upwards.

// A recursive `async fn` cannot promise that its future is `Send`; `impl Future + Send` can.
#![expect(clippy::manual_async_fn)]

use std::time::Instant;

use smol::channel::{Sender, bounded};

use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn join(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    super::measure(p, || {
        let begin = Instant::now();
        let answer = pool.run(join_node(0, p.n));
        (begin.elapsed(), answer)
    })
}

fn join_node(first: u64, leaves: u64) -> impl Future<Output = u64> + Send {
    async move {
        if leaves == 1 {
            return first;
        }
        let part = leaves / 10;
        let children: [_; 10] = std::array::from_fn(|i| spawn(join_node(first + i as u64 * part, part)));
        let mut sum = 0;
        for child in children {
            sum += child.await;
        }
        sum
    }
}

pub(super) fn channel(p: &Params) -> Outcome {
    let pool = host::smol::start(p);
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = pool.run(async move {
            let (tx, rx) = bounded(1);
            spawn(channel_node(0, n, tx)).detach();
            rx.recv().await.unwrap()
        });
        (begin.elapsed(), answer)
    })
}

fn channel_node(first: u64, leaves: u64, up: Sender<u64>) -> impl Future<Output = ()> + Send {
    async move {
        if leaves == 1 {
            return up.send(first).await.unwrap();
        }
        let part = leaves / 10;
        let (tx, rx) = bounded(10);
        for i in 0..10 {
            spawn(channel_node(first + i * part, part, tx.clone())).detach();
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += rx.recv().await.unwrap();
        }
        up.send(sum).await.unwrap();
    }
}
