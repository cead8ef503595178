//! `graph` by oneTBB's flow graph and by Taskflow: C++ programs, which are given the graph.

use super::Work;
use crate::outside::cpp::{self, Library};
use crate::params::Params;
use crate::record::Outcome;

const SOURCE: &str = include_str!("../../peers/graph.cpp");

pub(super) fn tbb(p: &Params) -> Outcome {
    run(p, &cpp::TBB)
}

pub(super) fn taskflow(p: &Params) -> Outcome {
    run(p, &cpp::TASKFLOW)
}

/// Of the workload `dataflow`: each run spawns the nodes anew, each with what it comes after.
pub(crate) fn dependent_tasks(p: &Params) -> Outcome {
    run(p, &cpp::TASKFLOW_DEPENDENT)
}

fn run(p: &Params, library: &'static Library) -> Outcome {
    let work = Work::new(p);
    let mut program = cpp::start(library, SOURCE, p.workers)?;
    let nodes = work.shape.len();
    let mut graph = vec![nodes as u32, work.shape.computes.into()];
    for node in 0..nodes {
        let before = work.shape.before(node);
        graph.push(before.len() as u32);
        graph.extend(before);
    }
    let bytes: Vec<u8> = graph.into_iter().flat_map(u32::to_ne_bytes).collect();
    program.give(&bytes)?;
    program.measure(nodes as u64, work.want()?)
}
