//! `psort` by Myriad.

use myriad::{Runtime, par, scope};

use super::{PARTS, Record};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

/// Starts a runtime for this run.
fn start(p: &Params) -> Result<Runtime, crate::record::Failure> {
    host::myriad::start(p)
}

pub(super) fn stable(p: &Params) -> Outcome {
    let rt = start(p)?;
    super::floats(p, 1, |v| rt.run(|| par::sort_by(v, f64::total_cmp)))
}

pub(super) fn unstable(p: &Params) -> Outcome {
    let rt = start(p)?;
    super::floats(p, 1, |v| rt.run(|| par::sort_unstable_by(v, f64::total_cmp)))
}

pub(super) fn floats(p: &Params) -> Outcome {
    let rt = start(p)?;
    super::floats(p, 1, |v| rt.run(|| par::sort_floats(v)))
}

pub(super) fn records(p: &Params) -> Outcome {
    let rt = start(p)?;
    super::records(p, |v| rt.run(|| par::sort_by(v, |a: &Record, b: &Record| a.key.cmp(&b.key))))
}

pub(super) fn nested(p: &Params) -> Outcome {
    let rt = start(p)?;
    super::floats(p, PARTS, |v| {
        rt.run(|| {
            scope(|s| {
                for part in v.chunks_mut(v.len().div_ceil(PARTS)) {
                    s.spawn(|| par::sort_by(part, f64::total_cmp));
                }
            })
        })
    })
}
