//! `idle` by tokio, with its oneshot channels.

use tokio::spawn;
use tokio::sync::oneshot::channel;
use tokio::task::yield_now;

use super::{Census, Tally};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    host::tokio::start(p).run(once(p.n))
}

async fn once(n: u64) -> Outcome {
    let tally = Tally::default();
    let mut census = Census::begin();
    let mut senders = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (tx, rx) = channel();
        senders.push(tx);
        let tally = tally.clone();
        spawn(async move {
            tally.block();
            tally.got(rx.await.unwrap());
        });
    }
    while tally.starting(n) {
        yield_now().await;
    }
    census.all_blocked(n);
    for (i, tx) in senders.into_iter().enumerate() {
        tx.send(i as u64).unwrap();
    }
    while tally.ending(n) {
        yield_now().await;
    }
    census.end(&tally, n)
}
