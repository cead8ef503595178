//! Parallel loops by Myriad.

use myriad::{Runtime, par};

use super::Loop;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(in crate::overhead) fn run(p: &Params) -> Outcome {
    super::measure(p, host::myriad::start(p)?)
}

impl Loop for Runtime {
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync) {
        self.run(|| par::each(0..n, &body));
    }
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync) {
        self.run(|| par::each(0..n, |i| par::each(0..n, |k| body(i, k))));
    }
}
