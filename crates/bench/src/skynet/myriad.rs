//! `skynet` by Myriad, in all three forms.

use std::time::Instant;

use myriad::channel::{Sender, bounded};
use myriad::{block_on, spawn, spawn_async};

use crate::host;
use crate::live::{self, Alive};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn join(p: &Params) -> Outcome {
    // In threads mode too: a child that nobody has begun is joined in place, and the few that are
    // stolen are waited for.
    let rt = host::myriad::start(p)?;
    let n = p.n;
    let measured = super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || if p.live { join_node::<true>(0, n) } else { join_node::<false>(0, n) });
        (begin.elapsed(), answer)
    });
    measured.map(|m| live::counted(p, m))
}

fn join_node<const C: bool>(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    let children: [_; 10] = std::array::from_fn(|i| {
        let alive = Alive::<C>::new();
        spawn(move || {
            let _alive = alive;
            join_node::<C>(first + i as u64 * part, part)
        })
    });
    children.into_iter().map(|c| c.join().unwrap()).sum()
}

pub(super) fn channel(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    host::myriad::waiting(p, super::tasks(p.n))?;
    let n = p.n;
    let node = if p.live { channel_node::<true> } else { channel_node::<false> };
    let measured = super::measure(p, || {
        let begin = Instant::now();
        let answer = rt.run(move || {
            let (tx, rx) = bounded(1);
            spawn(move || node(0, n, tx));
            rx.recv().unwrap()
        });
        (begin.elapsed(), answer)
    });
    measured.map(|m| live::counted(p, m))
}

fn channel_node<const C: bool>(first: u64, leaves: u64, up: Sender<u64>) {
    if leaves == 1 {
        return up.send(first).unwrap();
    }
    let part = leaves / 10;
    let (tx, rx) = bounded(10);
    for i in 0..10 {
        let tx = tx.clone();
        let alive = Alive::<C>::new();
        spawn(move || {
            let _alive = alive;
            channel_node::<C>(first + i * part, part, tx);
        });
    }
    up.send((0..10).map(|_| rx.recv().unwrap()).sum()).unwrap();
}

pub(super) fn future(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    let measured = super::measure(p, || {
        let begin = Instant::now();
        let answer =
            rt.run(
                move || {
                    if p.live { block_on(future_node::<true>(0, n)) } else { block_on(future_node::<false>(0, n)) }
                },
            );
        (begin.elapsed(), answer)
    });
    measured.map(|m| live::counted(p, m))
}

fn future_node<const C: bool>(first: u64, leaves: u64) -> impl Future<Output = u64> + Send {
    let alive = Alive::<C>::new();
    async move {
        let _alive = alive;
        if leaves == 1 {
            return first;
        }
        let part = leaves / 10;
        let children: [_; 10] = std::array::from_fn(|i| spawn_async(future_node::<C>(first + i as u64 * part, part)));
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    }
}
