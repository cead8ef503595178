//! `sieve` by OS threads and the channels of the standard library.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

use super::{SLOTS, odd};
use crate::limits;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    limits::threads(p.n)?;
    super::measure(p, || once(p.n))
}

fn once(n: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = sync_channel(SLOTS);
    spawn(move || odd().try_for_each(|x| tx.send(x)).ok());
    for _ in 1..n {
        let (tx, next) = sync_channel(SLOTS);
        spawn(move || filter(rx, tx));
        rx = next;
    }
    let last = rx.recv().unwrap();
    (begin.elapsed(), last)
}

fn filter(rx: Receiver<u64>, tx: SyncSender<u64>) {
    let Ok(prime) = rx.recv() else { return };
    while let Ok(x) = rx.recv() {
        if x % prime != 0 && tx.send(x).is_err() {
            break;
        }
    }
}
