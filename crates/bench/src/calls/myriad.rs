//! `calls` by Myriad: spawn on the runtime, and join.

use super::{measure, measure_beside, square};
use crate::host;
use crate::interactive::myriad::background;
use crate::load::Load;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn idle(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    measure(p, |i| rt.spawn(move || square(i)).join().unwrap())
}

pub(super) fn busy(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let load = Load::new(p);
    load.start(|load| drop(rt.spawn(move || background(load))));
    measure_beside(p, &load, |i| rt.spawn(move || square(i)).join().unwrap())
}
