//! Plain loops.

use super::Loop;
use crate::params::Params;
use crate::record::Outcome;

pub(in crate::overhead) fn run(p: &Params) -> Outcome {
    super::measure(p, Serial)
}

struct Serial;

impl Loop for Serial {
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync) {
        (0..n).for_each(body);
    }
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync) {
        (0..n).for_each(|i| (0..n).for_each(|k| body(i, k)));
    }
}
