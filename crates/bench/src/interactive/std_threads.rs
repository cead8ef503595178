//! `interactive` by threads: as many as workers compute, and each request has a thread of its own.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::{answer, measure};
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

/// Starts the threads that compute.
pub(crate) fn background(load: &Arc<Load>, workers: usize) -> Vec<JoinHandle<()>> {
    let one = |load: Arc<Load>| std::thread::spawn(move || while load.one() {});
    (0..workers).map(|_| one(load.clone())).collect()
}

pub(super) fn pool(p: &Params) -> Outcome {
    let load = Load::new(p);
    let busy = background(&load, p.workers);
    let outcome = measure(p, &load, |i| std::thread::spawn(move || answer(i)).join().expect("it does not panic"));
    busy.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    outcome
}
