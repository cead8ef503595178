//! `interactive` by rayon: with a second pool, or beside the others.

use std::sync::Arc;
use std::sync::mpsc;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{Load, answer, measure};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

fn background(load: Arc<Load>) {
    if load.one() {
        rayon::spawn(move || background(load));
    }
}

fn run(p: &Params, busy: &ThreadPool, asked: &ThreadPool) -> Outcome {
    let load = Load::new();
    for _ in 0..Load::tasks(p) {
        let load = load.clone();
        busy.spawn(move || background(load));
    }
    measure(p, &load, |i| {
        let (tx, rx) = mpsc::channel();
        asked.spawn(move || tx.send(answer(i)).expect("it is waited for"));
        rx.recv().expect("the task answers")
    })
}

pub(super) fn pool(p: &Params) -> Outcome {
    let one = ThreadPoolBuilder::new().num_threads(1).build().expect("the kernel gives rayon a thread");
    run(p, &host::rayon::start(p), &one)
}

pub(super) fn shared(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    run(p, &pool, &pool)
}
