//! `graph` by Myriad.

use super::Work;
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use myriad::flow::Graph;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let work = Work::new(p);
    let mut graph = Graph::builder();
    let mut ids = Vec::with_capacity(work.shape.len());
    for node in 0..work.shape.len() {
        let before = work.shape.before(node).iter().map(|&before| ids[before as usize]);
        let work = &work;
        let id = graph.node("", move || work.body(node)).after(before).id();
        ids.push(id);
    }
    let graph = graph.build().map_err(|error| Failure::Wrong(error.to_string()))?;
    let mut failed = None;
    let outcome = work.measure(|| failed = rt.run(|| graph.run()).err());
    match failed {
        Some(error) => Err(Failure::Wrong(error.to_string())),
        None => outcome,
    }
}
