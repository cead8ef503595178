//! `calls` by tokio: spawn on the runtime, and block on the handle.

use tokio::runtime::{Builder, Runtime};

use super::{measure, measure_beside, square};
use crate::interactive::tokio::background;
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

fn start(p: &Params) -> Runtime {
    Builder::new_multi_thread().worker_threads(p.workers).build().expect("the kernel gives tokio a few threads")
}

fn call(rt: &Runtime, i: u64) -> u64 {
    rt.block_on(rt.spawn(async move { square(i) })).expect("the task does not panic")
}

pub(super) fn idle(p: &Params) -> Outcome {
    let rt = start(p);
    measure(p, |i| call(&rt, i))
}

pub(super) fn busy(p: &Params) -> Outcome {
    let rt = start(p);
    let load = Load::new(p);
    {
        let _inside = rt.enter();
        load.start(background);
    }
    measure_beside(p, &load, |i| call(&rt, i))
}
