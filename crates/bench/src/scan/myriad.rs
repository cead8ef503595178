//! `scan` by Myriad.

use std::time::Instant;

use myriad::par;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn sum(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let once = |xs: &mut [u64]| {
        let begin = Instant::now();
        par::prefix_sum(xs);
        begin.elapsed()
    };
    rt.run(|| super::measure(p, once))
}

pub(super) fn generic(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let once = |xs: &mut [u64]| {
        let begin = Instant::now();
        par::scan_inclusive(xs, |a, b| a + b);
        begin.elapsed()
    };
    rt.run(|| super::measure(p, once))
}
