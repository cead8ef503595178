//! Parallel loops by rayon.

use rayon::prelude::*;

use super::Loop;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(in crate::overhead) fn run(p: &Params) -> Outcome {
    host::rayon::start(p).install(|| super::measure(p, Inside))
}

/// On a thread of the pool.
struct Inside;

impl Loop for Inside {
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync) {
        (0..n).into_par_iter().for_each(&body);
    }
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync) {
        (0..n).into_par_iter().for_each(|i| (0..n).into_par_iter().for_each(|k| body(i, k)));
    }
}
