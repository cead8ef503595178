//! `skynet` by may, which cannot have many nodes: each coroutine needs two mappings.

use std::time::Instant;

use may::coroutine::spawn;
use may::sync::mpsc::{self, Sender};

use crate::params::Params;
use crate::record::Outcome;
use crate::{host, limits};

pub(super) fn join(p: &Params) -> Outcome {
    limits::may(super::tasks(p.n))?;
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = may.run(move || join_node(0, n));
        (begin.elapsed(), answer)
    })
}

fn join_node(first: u64, leaves: u64) -> u64 {
    if leaves == 1 {
        return first;
    }
    let part = leaves / 10;
    let children: [_; 10] = std::array::from_fn(|i| {
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        unsafe { spawn(move || join_node(first + i as u64 * part, part)) }
    });
    children.into_iter().map(|c| c.join().unwrap()).sum()
}

pub(super) fn channel(p: &Params) -> Outcome {
    limits::may(super::tasks(p.n))?;
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || {
        let begin = Instant::now();
        let answer = may.run(move || {
            let (tx, rx) = mpsc::channel();
            // SAFETY: no thread-local values, no deep calls (host/may.rs).
            unsafe { spawn(move || channel_node(0, n, tx)) };
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
    let (tx, rx) = mpsc::channel();
    for i in 0..10 {
        let tx = tx.clone();
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        unsafe { spawn(move || channel_node(first + i * part, part, tx)) };
    }
    up.send((0..10).map(|_| rx.recv().unwrap()).sum()).unwrap();
}
