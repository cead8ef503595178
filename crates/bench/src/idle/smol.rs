//! `idle` by smol, with its own channels.

use smol::channel::bounded;
use smol::future::yield_now;

use super::{Census, Tally};
use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    host::smol::start(p).run(once(p.n))
}

async fn once(n: u64) -> Outcome {
    let tally = Tally::default();
    let mut census = Census::begin();
    let mut senders = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (tx, rx) = bounded(1);
        senders.push(tx);
        let tally = tally.clone();
        spawn(async move {
            tally.block();
            tally.got(rx.recv().await.unwrap());
        })
        .detach();
    }
    while tally.starting(n) {
        yield_now().await;
    }
    census.all_blocked(n);
    for (i, tx) in senders.iter().enumerate() {
        tx.send(i as u64).await.unwrap();
    }
    while tally.ending(n) {
        yield_now().await;
    }
    census.end(&tally, n)
}
