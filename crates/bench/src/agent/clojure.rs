//! `agent` by Clojure's agents, whose pool has as many threads as there are workers.

use super::{sum_of_relay, sum_of_shared};
use crate::outside::clojure::{self, CLOJURE};
use crate::params::Params;
use crate::record::Outcome;

const SOURCE: &str = include_str!("../../peers/agent.clj");

fn run(p: &Params, want: u64) -> Outcome {
    let numbers = [p.n, p.m, p.workers as u64].map(|number| number.to_string());
    let arguments = [&p.form, &numbers[0], &numbers[1], &numbers[2]].map(String::as_str);
    clojure::start(&CLOJURE, "agent", SOURCE, p.workers, &arguments)?.measure(p.n * p.m, want)
}

pub(super) fn relay(p: &Params) -> Outcome {
    run(p, sum_of_relay(p))
}

pub(super) fn shared(p: &Params) -> Outcome {
    run(p, sum_of_shared(p))
}
