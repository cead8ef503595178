//! `ops` by core.async: a Clojure program.

use super::{TAPS, sum};
use crate::outside::clojure::{self, CORE_ASYNC};
use crate::params::Params;
use crate::record::Outcome;

const SOURCE: &str = include_str!("../../peers/ops.clj");

fn run(p: &Params, want: u64) -> Outcome {
    clojure::start(&CORE_ASYNC, "ops", SOURCE, p.workers, &[&p.form, &p.n.to_string()])?.measure(p.n, want)
}

pub(super) fn mult(p: &Params) -> Outcome {
    run(p, TAPS * sum(p.n))
}

pub(super) fn pipeline(p: &Params) -> Outcome {
    run(p, sum(p.n) + p.n)
}

pub(super) fn publish(p: &Params) -> Outcome {
    run(p, sum(p.n))
}

pub(super) fn mix(p: &Params) -> Outcome {
    run(p, sum(p.n))
}
