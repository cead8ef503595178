//! `scan` by a loop.

use std::time::Instant;

use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, |xs| {
        let begin = Instant::now();
        let mut sum = 0;
        for x in xs {
            sum += *x;
            *x = sum;
        }
        begin.elapsed()
    })
}
