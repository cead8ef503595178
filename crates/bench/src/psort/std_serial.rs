//! `psort` by std's serial sorts.

use super::PARTS;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn stable(p: &Params) -> Outcome {
    super::floats(p, 1, |v| v.sort_by(f64::total_cmp))
}

pub(super) fn unstable(p: &Params) -> Outcome {
    super::floats(p, 1, |v| v.sort_unstable_by(f64::total_cmp))
}

pub(super) fn records(p: &Params) -> Outcome {
    super::records(p, |v| v.sort_by_key(|r| r.key))
}

pub(super) fn nested(p: &Params) -> Outcome {
    super::floats(p, PARTS, |v| {
        v.chunks_mut(v.len().div_ceil(PARTS)).for_each(|part| part.sort_by(f64::total_cmp));
    })
}
