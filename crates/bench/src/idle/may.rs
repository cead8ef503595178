//! `idle` by may. The root sleeps while it waits: with one worker, its `yield_now` never lets the
//! others run.

use std::time::Duration;

use may::coroutine::{sleep, spawn};
use may::sync::mpsc::channel;

use super::{Census, Tally};
use crate::params::Params;
use crate::record::Outcome;
use crate::{host, limits};

pub(super) fn run(p: &Params) -> Outcome {
    limits::may(p.n)?;
    let n = p.n;
    host::may::start(p).run(move || once(n))
}

fn once(n: u64) -> Outcome {
    let tally = Tally::default();
    let mut census = Census::begin();
    let mut senders = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (tx, rx) = channel();
        senders.push(tx);
        let tally = tally.clone();
        let task = move || {
            tally.block();
            tally.got(rx.recv().unwrap());
        };
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        unsafe { spawn(task) };
    }
    while tally.starting(n) {
        sleep(Duration::from_millis(1));
    }
    census.all_blocked(n);
    for (i, tx) in senders.iter().enumerate() {
        tx.send(i as u64).unwrap();
    }
    while tally.ending(n) {
        sleep(Duration::from_millis(1));
    }
    census.end(&tally, n)
}
