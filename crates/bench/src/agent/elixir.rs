//! `agent` by Elixir's `Agent`: a process that has a value.

use super::{sum_of_relay, sum_of_shared};
use crate::actor::elixir;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn relay(p: &Params) -> Outcome {
    elixir::run(p, sum_of_relay(p))
}

pub(super) fn shared(p: &Params) -> Outcome {
    elixir::run(p, sum_of_shared(p))
}
