//! `lock` by two coroutines of may: its own unbounded channel, or a bounded one made from it and a
//! semaphore.

use std::time::{Duration, Instant};

use may::coroutine::spawn;
use may::sync::mpsc;

use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    if p.buffer == Some(0) {
        return Err(Failure::Cannot("may has no rendezvous (a buffer of 0)".into()));
    }
    let may = host::may::start(p);
    let (n, buffer) = (p.n, p.buffer);
    super::measure(p, || match buffer {
        None => may.run(move || once(n, mpsc::channel(), |tx, i| tx.send(i).unwrap(), |rx| rx.recv().unwrap())),
        Some(slots) => {
            may.run(move || once(n, host::may::bounded(slots), |tx, i| tx.send(i).unwrap(), |rx| rx.recv().unwrap()))
        }
    })
}

/// The program; may's two kinds of channel come in as functions.
fn once<S: Send + 'static, R>(
    n: u64,
    (tx, rx): (S, R),
    send: impl Fn(&S, u64) + Send + 'static,
    recv: impl Fn(&R) -> u64,
) -> (Duration, u64) {
    let begin = Instant::now();
    let sender = move || {
        for i in 0..n {
            send(&tx, i);
        }
    };
    // SAFETY: no thread-local values, no deep calls (host/may.rs).
    unsafe { spawn(sender) };
    let sum = (0..n).map(|_| recv(&rx)).sum();
    (begin.elapsed(), sum)
}
