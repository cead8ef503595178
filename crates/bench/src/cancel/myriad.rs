//! `cancel` by Myriad: a scope of closures that block, and a set of futures.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use myriad::channel::bounded;
use myriad::task::JoinSet;
use myriad::{scope, time};

use super::{Measurement, Tally};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

const SHORT: Duration = Duration::from_millis(1);
/// So many closures are spawned by one task. A closure goes on where it began: if all were spawned
/// by one task, the worker of that would be busy with it, and the other workers would have them
/// all.
const SPAWNS: usize = 500;

pub(super) fn closure(p: &Params) -> Outcome {
    host::myriad::waiting(p, p.n)?;
    let rt = host::myriad::start(p)?;
    let n = p.n;
    rt.run(move || closures(n))
}

pub(super) fn future(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    host::myriad::run_future(&rt, futures(p.n))
}

fn closures(n: u64) -> Outcome {
    let tally = Tally::new(n);
    let mut measurement = Measurement::begin(tally);
    let senders = Mutex::new(Vec::with_capacity(n as usize));
    scope(|s| {
        for first in (0..n).step_by(SPAWNS) {
            let senders = &senders;
            s.spawn(move || {
                let mut own = Vec::with_capacity(SPAWNS);
                for i in first..n.min(first + SPAWNS as u64) {
                    let (tx, rx) = bounded::<u64>(1);
                    own.push(tx);
                    s.spawn(move || {
                        let guard = tally.block(i);
                        _ = rx.recv();
                        guard.went_on();
                    });
                }
                senders.lock().unwrap().append(&mut own);
            });
        }
        while tally.starting() {
            time::sleep(SHORT);
        }
        measurement.cancel();
        s.cancel();
    });
    let end = Instant::now();
    // Each receiver has gone with its task.
    let gone = senders.lock().unwrap().iter().filter(|tx| tx.is_closed()).count() as u64;
    measurement.end(end, n, gone)
}

async fn futures(n: u64) -> Outcome {
    let tally = Tally::new(n);
    let mut measurement = Measurement::begin(tally);
    let mut senders = Vec::with_capacity(n as usize);
    let mut set = JoinSet::new();
    for i in 0..n {
        let (tx, rx) = bounded::<u64>(1);
        senders.push(tx);
        set.spawn_async(async move {
            let guard = tally.block(i);
            _ = rx.recv_async().await;
            guard.went_on();
        });
    }
    while tally.starting() {
        time::sleep_async(SHORT).await;
    }
    measurement.cancel();
    set.cancel_all();
    let mut cancelled = 0;
    while let Some(result) = set.join_next_async().await {
        cancelled += u64::from(result.is_err_and(|e| e.is_cancelled()));
    }
    let end = Instant::now();
    measurement.end(end, n, cancelled)
}
