//! `sieve` by may, with bounded channels made from its semaphore and its unbounded ones.

use std::time::{Duration, Instant};

use may::coroutine::spawn;

use super::{SLOTS, odd};
use crate::host::may::{Receiver, Sender, bounded};
use crate::params::Params;
use crate::record::Outcome;
use crate::{host, limits};

pub(super) fn run(p: &Params) -> Outcome {
    limits::may(p.n)?;
    let may = host::may::start(p);
    let n = p.n;
    super::measure(p, || may.run(move || once(n)))
}

fn once(n: u64) -> (Duration, u64) {
    let begin = Instant::now();
    let (tx, mut rx) = bounded(SLOTS);
    // SAFETY: no thread-local values, no deep calls (host/may.rs).
    unsafe { spawn(move || odd().try_for_each(|x| tx.send(x)).ok()) };
    for _ in 1..n {
        let (tx, next) = bounded(SLOTS);
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        unsafe { spawn(move || filter(rx, tx)) };
        rx = next;
    }
    let last = rx.recv().unwrap();
    (begin.elapsed(), last)
}

fn filter(rx: Receiver<u64>, tx: Sender<u64>) {
    let Some(prime) = rx.recv() else { return };
    while let Some(x) = rx.recv() {
        if x % prime != 0 && tx.send(x).is_err() {
            break;
        }
    }
}
