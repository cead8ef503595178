//! `interactive` by threads: as many as workers compute, and each request has a thread of its own.

use super::{Load, answer, measure};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn pool(p: &Params) -> Outcome {
    let load = Load::new();
    let busy: Vec<_> = (0..p.workers)
        .map(|_| {
            let load = load.clone();
            std::thread::spawn(move || while load.one() {})
        })
        .collect();
    let outcome = measure(p, &load, |i| std::thread::spawn(move || answer(i)).join().expect("it does not panic"));
    busy.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    outcome
}
