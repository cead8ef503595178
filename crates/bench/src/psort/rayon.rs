//! `psort` by rayon.

use rayon::slice::ParallelSliceMut;

use super::PARTS;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn stable(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::floats(p, 1, |v| pool.install(|| v.par_sort_by(f64::total_cmp)))
}

pub(super) fn unstable(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::floats(p, 1, |v| pool.install(|| v.par_sort_unstable_by(f64::total_cmp)))
}

pub(super) fn records(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::records(p, |v| pool.install(|| v.par_sort_by(|a, b| a.key.cmp(&b.key))))
}

pub(super) fn nested(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    super::floats(p, PARTS, |v| {
        pool.scope(|s| {
            for part in v.chunks_mut(v.len().div_ceil(PARTS)) {
                s.spawn(|_| part.par_sort_by(f64::total_cmp));
            }
        })
    })
}
