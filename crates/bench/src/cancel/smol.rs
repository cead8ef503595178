//! `cancel` by smol. Its tasks are cancelled one by one: each `cancel` is awaited when all have
//! been asked.

use std::time::Instant;

use smol::channel::bounded;
use smol::future::{poll_once, yield_now};

use super::{Measurement, Tally};
use crate::host;
use crate::host::smol::spawn;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    host::smol::start(p).run(once(p.n))
}

async fn once(n: u64) -> Outcome {
    let tally = Tally::new(n);
    let mut measurement = Measurement::begin(tally);
    let mut senders = Vec::with_capacity(n as usize);
    let mut tasks = Vec::with_capacity(n as usize);
    for i in 0..n {
        let (tx, rx) = bounded::<u64>(1);
        senders.push(tx);
        tasks.push(spawn(async move {
            let guard = tally.block(i);
            _ = rx.recv().await;
            guard.went_on();
        }));
    }
    while tally.starting() {
        yield_now().await;
    }
    measurement.cancel();
    let mut cancelled = 0;
    let mut ending = Vec::with_capacity(tasks.len());
    for task in tasks {
        let mut end = Box::pin(task.cancel());
        match poll_once(end.as_mut()).await {
            Some(result) => cancelled += u64::from(result.is_none()),
            None => ending.push(end),
        }
    }
    for end in ending {
        cancelled += u64::from(end.await.is_none());
    }
    let end = Instant::now();
    measurement.end(end, n, cancelled)
}
