//! `cancel` by tokio: a `JoinSet`, and channels with one slot.

use std::time::Instant;

use tokio::sync::mpsc::channel;
use tokio::task::{JoinSet, yield_now};

use super::{Measurement, Tally};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    host::tokio::start(p).run(once(p.n))
}

async fn once(n: u64) -> Outcome {
    let tally = Tally::new(n);
    let mut measurement = Measurement::begin(tally);
    let mut senders = Vec::with_capacity(n as usize);
    let mut set = JoinSet::new();
    for i in 0..n {
        let (tx, mut rx) = channel::<u64>(1);
        senders.push(tx);
        set.spawn(async move {
            let guard = tally.block(i);
            _ = rx.recv().await;
            guard.went_on();
        });
    }
    while tally.starting() {
        yield_now().await;
    }
    measurement.cancel();
    set.abort_all();
    let mut cancelled = 0;
    while let Some(result) = set.join_next().await {
        cancelled += u64::from(result.is_err_and(|e| e.is_cancelled()));
    }
    let end = Instant::now();
    measurement.end(end, n, cancelled)
}
