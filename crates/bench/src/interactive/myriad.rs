//! `interactive` by Myriad: with a pool, or with priorities.

use std::sync::Arc;

use myriad::spawn;
use myriad::task::{Builder, Priority};

use super::{answer, measure};
use crate::host::myriad::{build, builder};
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

/// A task of the load.
pub(crate) fn background(load: Arc<Load>) {
    if load.one() {
        spawn(move || background(load));
    }
}

pub(super) fn pool(p: &Params) -> Outcome {
    let rt = build(builder(p).pool("interactive", 1))?;
    let load = Load::new(p);
    load.start(|load| drop(rt.spawn(move || background(load))));
    let interactive = rt.handle().pool("interactive").expect("built with it");
    measure(p, &load, |i| interactive.spawn(move || answer(i)).join().unwrap())
}

pub(super) fn shared(p: &Params) -> Outcome {
    let rt = build(builder(p))?;
    let load = Load::new(p);
    load.start(|load| drop(rt.spawn(move || background(load))));
    measure(p, &load, |i| {
        let interactive = Builder::new().on(rt.handle()).priority(Priority::Interactive);
        interactive.spawn(move || answer(i)).join().unwrap()
    })
}
