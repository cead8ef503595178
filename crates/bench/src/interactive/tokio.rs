//! `interactive` by tokio: with a second runtime, as its users do, or beside the others.

use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use super::{answer, measure};
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

fn start(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).build().expect("the kernel gives tokio a few threads")
}

/// A task of the load.
pub(crate) fn background(load: Arc<Load>) {
    tokio::spawn(async move {
        if load.one() {
            background(load);
        }
    });
}

fn run(p: &Params, busy: &Runtime, asked: &Runtime) -> Outcome {
    let load = Load::new(p);
    {
        let _inside = busy.enter();
        load.start(background);
    }
    measure(p, &load, |i| {
        let task = asked.spawn(async move { answer(i) });
        asked.block_on(task).expect("the task does not panic")
    })
}

pub(super) fn pool(p: &Params) -> Outcome {
    run(p, &start(p.workers), &start(1))
}

pub(super) fn shared(p: &Params) -> Outcome {
    let rt = start(p.workers);
    run(p, &rt, &rt)
}
