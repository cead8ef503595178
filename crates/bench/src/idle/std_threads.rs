//! `idle` by OS threads and the channels of the standard library.

use std::sync::mpsc::sync_channel;
use std::thread::{spawn, yield_now};

use super::{Census, Tally};
use crate::limits;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    limits::threads(p.n)?;
    let n = p.n;
    let tally = Tally::default();
    let mut census = Census::begin();
    let mut senders = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (tx, rx) = sync_channel(1);
        senders.push(tx);
        let tally = tally.clone();
        spawn(move || {
            tally.block();
            tally.got(rx.recv().unwrap());
        });
    }
    while tally.starting(n) {
        yield_now();
    }
    census.all_blocked(n);
    for (i, tx) in senders.iter().enumerate() {
        tx.send(i as u64).unwrap();
    }
    while tally.ending(n) {
        yield_now();
    }
    census.end(&tally, n)
}
