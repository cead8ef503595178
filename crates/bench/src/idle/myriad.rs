//! `idle` by Myriad: closures that block, and futures.

use std::time::Duration;

use myriad::channel::bounded;
use myriad::{spawn, spawn_async, time};

use super::{Census, Tally};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn closure(p: &Params) -> Outcome {
    host::myriad::waiting(p, p.n)?;
    run(p, false)
}

pub(super) fn future(p: &Params) -> Outcome {
    run(p, true)
}

fn run(p: &Params, futures: bool) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    rt.run(move || {
        let tally = Tally::default();
        let mut census = Census::begin();
        let mut senders = Vec::with_capacity(n as usize);
        for _ in 0..n {
            let (tx, rx) = bounded(1);
            senders.push(tx);
            let tally = tally.clone();
            if futures {
                spawn_async(async move {
                    tally.block();
                    tally.got(rx.recv_async().await.unwrap());
                });
            } else {
                spawn(move || {
                    tally.block();
                    tally.got(rx.recv().unwrap());
                });
            }
        }
        while tally.starting(n) {
            time::sleep(Duration::from_millis(1));
        }
        census.all_blocked(n);
        for (i, tx) in senders.iter().enumerate() {
            tx.send(i as u64).unwrap();
        }
        while tally.ending(n) {
            time::sleep(Duration::from_millis(1));
        }
        census.end(&tally, n)
    })
}
