//! `actor` by Erlang: a process with a receive, or a gen_server.

use super::program::{self, Tree};
use crate::outside::Program;
use crate::outside::beam::{self, ERLANG};
use crate::params::Params;
use crate::record::{Failure, Outcome};

const SOURCE: &str = include_str!("../../peers/actor.erl");

fn start(p: &Params) -> Result<Program, Failure> {
    // (All of `ring` live at a time.)
    let processes = 2 * program::ops(p);
    beam::start(&ERLANG, "actor", SOURCE, p.workers, processes, &[&p.form, &p.n.to_string(), &p.m.to_string()])
}

pub(super) fn relay(p: &Params) -> Outcome {
    start(p)?.measure(program::ops(p), program::sum_of_relay(p.n, p.m))
}

pub(super) fn ring(p: &Params) -> Outcome {
    start(p)?.measure(program::ops(p), program::ops(p) - 1)
}

pub(super) fn call(p: &Params) -> Outcome {
    start(p)?.measure(program::ops(p), 7 * program::ops(p))
}

pub(super) fn spawn(p: &Params) -> Outcome {
    start(p)?.measure(program::ops(p), program::ops(p))
}

pub(super) fn idle(p: &Params) -> Outcome {
    let actors = program::waiting_ones(p);
    start(p)?.measure_memory(actors, actors * (actors - 1) / 2)
}

pub(super) fn skynet(p: &Params) -> Outcome {
    let tree = Tree::of(p);
    start(p)?.measure(tree.actors(), tree.sum())
}

pub(super) fn restart(p: &Params) -> Outcome {
    let children = program::children(p);
    start(p)?.measure(children, 2 * children)
}

pub(super) fn kill(p: &Params) -> Outcome {
    let actors = program::waiting_ones(p);
    start(p)?.measure(actors, actors)
}
