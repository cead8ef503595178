//! `scan` by rayon, which has none: the sums of some blocks, then their prefixes, then each block.

use std::time::Instant;

use rayon::prelude::*;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

/// Blocks for each thread, so that who has less to do takes more.
const BLOCKS: usize = 4;

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    let once = |xs: &mut [u64]| {
        let size = xs.len().div_ceil(p.workers * BLOCKS);
        let begin = Instant::now();
        {
            let sums: Vec<u64> = xs.par_chunks(size).map(|block| block.iter().sum()).collect();
            let before: Vec<u64> = sums
                .iter()
                .scan(0, |sum, block| {
                    let before = *sum;
                    *sum += block;
                    Some(before)
                })
                .collect();
            xs.par_chunks_mut(size).zip(before).for_each(|(block, before)| {
                let mut sum = before;
                for x in block {
                    sum += *x;
                    *x = sum;
                }
            });
        }
        begin.elapsed()
    };
    pool.install(|| super::measure(p, once))
}
