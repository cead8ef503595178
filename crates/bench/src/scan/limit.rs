//! What memory allows: each element is read, changed and written, by as many threads as there are
//! workers, half of the slice each.
//!
//! Not a scan: the elements are put right afterwards, untimed.

use crate::params::Params;
use crate::record::Outcome;
use crate::together;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, |xs| {
        let parts = xs.chunks_mut(xs.len().div_ceil(p.workers)).collect();
        let time = together::each(parts, |part: &mut [u64]| part.iter_mut().for_each(|x| *x = x.wrapping_add(1)));
        let mut sum = 0;
        for x in xs {
            sum += *x - 1;
            *x = sum;
        }
        time
    })
}
