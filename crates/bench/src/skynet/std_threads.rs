//! `skynet` by OS threads, for small trees.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::spawn;
use std::time::Instant;

use crate::limits;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn join(p: &Params) -> Outcome {
    limits::threads(super::tasks(p.n))?;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = join_node(0, p.n);
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
    limits::threads(super::tasks(p.n))?;
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let (tx, rx) = sync_channel(1);
        spawn(move || channel_node(0, n, tx));
        let answer = rx.recv().unwrap();
        (begin.elapsed(), answer)
    })
}

fn channel_node(first: u64, leaves: u64, up: SyncSender<u64>) {
    if leaves == 1 {
        return up.send(first).unwrap();
    }
    let part = leaves / 10;
    let (tx, rx) = sync_channel(10);
    for i in 0..10 {
        let tx = tx.clone();
        spawn(move || channel_node(first + i * part, part, tx));
    }
    up.send((0..10).map(|_| rx.recv().unwrap()).sum()).unwrap();
}
