//! `ops` by Myriad.

use std::time::{Duration, Instant};

use myriad::channel::{Receiver, Sender, bounded};
use myriad::{JoinHandle, flow, spawn};

use super::{INPUTS, SLOTS, TAPS, TASKS, TOPICS, sum};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

/// Measures `program`, which gets the number of items and returns the sum, in a warm runtime.
fn measure(p: &Params, want: u64, program: impl Fn(u64) -> u64 + Sync) -> Outcome {
    let rt = host::myriad::start(p)?;
    sample::warm(p.n, || {
        let (sum, time) = rt.run(|| -> (u64, Duration) {
            let begin = Instant::now();
            let sum = program(p.n);
            (sum, begin.elapsed())
        });
        Failure::check(sum, want)?;
        Ok(time)
    })
}

/// A channel, and the sum of what comes out of it.
fn reader() -> (Sender<u64>, JoinHandle<u64>) {
    let (tx, rx) = bounded(SLOTS);
    (tx, spawn(move || rx.into_iter().sum()))
}

/// What a task sends that makes these numbers.
fn source(n: u64) -> Receiver<u64> {
    let (tx, rx) = bounded(SLOTS);
    flow::pipe(0..n, tx).detach();
    rx
}

/// The sum of all readers' sums.
fn total(readers: Vec<JoinHandle<u64>>) -> u64 {
    readers.into_iter().map(|reader| reader.join().unwrap_or(0)).sum()
}

pub(super) fn mult(p: &Params) -> Outcome {
    measure(p, TAPS * sum(p.n), |n| {
        let (tx, rx) = bounded(SLOTS);
        let all = flow::mult(rx);
        let readers = (0..TAPS).map(|_| reader()).map(|(tap, sum)| (all.tap(tap), sum).1).collect();
        flow::pipe(0..n, tx).detach();
        total(readers)
    })
}

pub(super) fn pipeline(p: &Params) -> Outcome {
    measure(p, sum(p.n) + p.n, |n| {
        let (tx, sum) = reader();
        flow::pipeline(TASKS, source(n), tx, |x| x + 1).detach();
        total(vec![sum])
    })
}

pub(super) fn publish(p: &Params) -> Outcome {
    measure(p, sum(p.n), |n| {
        let (tx, rx) = bounded(SLOTS);
        let topics = flow::publish(rx, |x| x % TOPICS);
        let subscribed = (0..TOPICS).map(|topic| {
            let (tx, sum) = reader();
            topics.subscribe(topic, tx);
            sum
        });
        let readers = subscribed.collect();
        flow::pipe(0..n, tx).detach();
        total(readers)
    })
}

pub(super) fn mix(p: &Params) -> Outcome {
    measure(p, sum(p.n), |n| {
        let (tx, sum) = reader();
        let all = flow::mix(tx);
        for input in 0..INPUTS {
            let (tx, rx) = bounded(SLOTS);
            all.add(rx);
            flow::pipe((input..n).step_by(INPUTS as usize), tx).detach();
        }
        all.detach();
        total(vec![sum])
    })
}
