//! Parallel loops by rayon.

use rayon::ThreadPool;
use rayon::prelude::*;

use super::Loop;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(in crate::overhead) fn run(p: &Params) -> Outcome {
    super::measure(p, host::rayon::start(p))
}

impl Loop for ThreadPool {
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync) {
        self.install(|| (0..n).into_par_iter().for_each(&body));
    }
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync) {
        self.install(|| (0..n).into_par_iter().for_each(|i| (0..n).into_par_iter().for_each(|k| body(i, k))));
    }
}
