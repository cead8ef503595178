//! `cancel` by may. The root sleeps while it waits: with one worker, its `yield_now` never lets the
//! others run.

use std::time::{Duration, Instant};

use may::coroutine::{sleep, spawn};
use may::sync::mpsc::channel;

use super::{Measurement, Tally};
use crate::params::Params;
use crate::record::Outcome;
use crate::{host, limits};

pub(super) fn run(p: &Params) -> Outcome {
    limits::may(p.n)?;
    let n = p.n;
    host::may::start(p).run(move || once(n))
}

fn once(n: u64) -> Outcome {
    let tally = Tally::new(n);
    let mut measurement = Measurement::begin(tally);
    let mut senders = Vec::with_capacity(n as usize);
    let mut handles = Vec::with_capacity(n as usize);
    for i in 0..n {
        let (tx, rx) = channel::<u64>();
        senders.push(tx);
        let task = move || {
            let guard = tally.block(i);
            _ = rx.recv();
            guard.went_on();
        };
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        handles.push(unsafe { spawn(task) });
    }
    while tally.starting() {
        sleep(Duration::from_millis(1));
    }
    measurement.cancel();
    for handle in &handles {
        // SAFETY: no value of the task is left to anybody when it unwinds.
        unsafe { handle.coroutine().cancel() };
    }
    let cancelled = handles.into_iter().filter_map(|handle| handle.join().err()).count() as u64;
    let end = Instant::now();
    measurement.end(end, n, cancelled)
}
