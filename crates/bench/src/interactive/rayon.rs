//! `interactive` by rayon: with a second pool.

use std::sync::Arc;
use std::sync::mpsc;

use rayon::ThreadPoolBuilder;

use super::{answer, measure};
use crate::host;
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

fn background(load: Arc<Load>) {
    if load.one() {
        rayon::spawn(move || background(load));
    }
}

pub(super) fn pool(p: &Params) -> Outcome {
    let busy = host::rayon::start(p);
    let one = ThreadPoolBuilder::new().num_threads(1).build().expect("the kernel gives rayon a thread");
    let load = Load::new(p);
    load.start(|load| busy.spawn(move || background(load)));
    measure(p, &load, |i| {
        let (tx, rx) = mpsc::channel();
        one.spawn(move || tx.send(answer(i)).expect("it is waited for"));
        rx.recv().expect("the task answers")
    })
}
