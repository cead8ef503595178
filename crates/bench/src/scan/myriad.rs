//! `scan` by Myriad.

use std::time::Instant;

use myriad::par;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn sum(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |xs| {
        rt.run(|| {
            let begin = Instant::now();
            par::prefix_sum(xs);
            begin.elapsed()
        })
    })
}

pub(super) fn operator(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    super::measure(p, |xs| {
        rt.run(|| {
            let begin = Instant::now();
            par::scan_inclusive(xs, |a, b| a + b);
            begin.elapsed()
        })
    })
}
