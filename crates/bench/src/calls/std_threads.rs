//! `calls` by threads: one for each call.

use std::thread::spawn;

use super::{measure, measure_beside, square};
use crate::interactive::std_threads::background;
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

fn call(i: u64) -> u64 {
    spawn(move || square(i)).join().expect("it does not panic")
}

pub(super) fn idle(p: &Params) -> Outcome {
    measure(p, call)
}

pub(super) fn busy(p: &Params) -> Outcome {
    let load = Load::new(p);
    let busy = background(&load, p.workers);
    let outcome = measure_beside(p, &load, call);
    busy.into_iter().for_each(|thread| thread.join().expect("it does not panic"));
    outcome
}
