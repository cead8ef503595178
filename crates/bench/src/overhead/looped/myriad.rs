//! Parallel loops by Myriad.

use myriad::par;

use super::Loop;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(in crate::overhead) fn run(p: &Params) -> Outcome {
    host::myriad::start(p)?.run(|| super::measure(p, Inside))
}

/// In a task.
struct Inside;

impl Loop for Inside {
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync) {
        par::for_each_index(0..n, body);
    }
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync) {
        par::for_each_index(0..n, |i| par::for_each_index(0..n, |k| body(i, k)));
    }
}
