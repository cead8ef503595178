//! Parallel loops by chili, which has `join` alone: by halves, down to a grain.

use chili::{Scope, ThreadPool};

use super::Loop;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

/// Iterations that are done at once.
const GRAIN: u64 = 64;

pub(in crate::overhead) fn run(p: &Params) -> Outcome {
    super::measure(p, host::chili::start(p))
}

impl Loop for ThreadPool {
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync) {
        halves(&mut self.scope(), 0, n, GRAIN, &|_, i| body(i));
    }
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync) {
        halves(&mut self.scope(), 0, n, 1, &|s, i| halves(s, 0, n, GRAIN, &|_, k| body(i, k)));
    }
}

fn halves(s: &mut Scope<'_>, from: u64, to: u64, grain: u64, body: &(impl Fn(&mut Scope<'_>, u64) + Sync)) {
    if to - from <= grain {
        return (from..to).for_each(|i| body(s, i));
    }
    let middle = from + (to - from) / 2;
    s.join(|s| halves(s, from, middle, grain, body), |s| halves(s, middle, to, grain, body));
}
