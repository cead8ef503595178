//! `overhead` by Myriad.

use std::time::{Duration, Instant};

use myriad::jobs::{Job, Local};
use myriad::{flow, spawn};

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn spawned(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || once(n)))
}

fn once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let begin = Instant::now();
    let tasks: Vec<_> = (0..n)
        .map(|mut x| {
            spawn(move || {
                x += y;
                x
            })
        })
        .collect();
    let sum = tasks.into_iter().map(|t| t.join().unwrap()).sum();
    (begin.elapsed(), sum)
}

pub(super) fn nodes(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || nodes_once(n)))
}

fn nodes_once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let begin = Instant::now();
    let nodes: Vec<_> = (0..n).map(|x| flow::spawn(|x: u64, y: u64| x + y, (x, y))).collect();
    let sum = nodes.into_iter().map(|node| node.join().unwrap_or(0)).sum();
    (begin.elapsed(), sum)
}

pub(super) fn jobs(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || rt.run(move || jobs_once(n)))
}

fn jobs_once(n: u64) -> (Duration, u64) {
    let y = super::y();
    let queue = Local::new().start();
    let begin = Instant::now();
    let submit = |x| queue.submit(Job::new(move || x + y)).expect("it fits");
    let jobs: Vec<_> = (0..n).map(submit).collect();
    // (Whoever joins one after the other is woken for each that has not ended.)
    queue.wait_all();
    let sum = jobs.into_iter().map(|job| job.join().unwrap_or(0)).sum();
    (begin.elapsed(), sum)
}
