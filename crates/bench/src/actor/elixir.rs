//! `actor` by Elixir: a GenServer. (A process with a receive is Erlang's.)

use super::program;
use crate::outside::beam::{self, ELIXIR};
use crate::params::Params;
use crate::record::Outcome;

/// (It has the programs of `agent`, too.)
const SOURCE: &str = include_str!("../../peers/beam.ex");

/// Runs the workload and form of `p` by Elixir.
pub(crate) fn run(p: &Params, want: u64) -> Outcome {
    let (n, m) = (p.n.to_string(), p.m.to_string());
    let arguments = [&p.workload, &p.form, &n, &m].map(String::as_str);
    beam::start(&ELIXIR, "Beam", SOURCE, p.workers, 0, &arguments)?.measure(p.n * p.m, want)
}

pub(super) fn relay(p: &Params) -> Outcome {
    run(p, program::sum_of_relay(p.n, p.m))
}

pub(super) fn call(p: &Params) -> Outcome {
    run(p, 7 * program::ops(p))
}
