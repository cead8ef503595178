//! `graph` by dag_exec. It has an index by keys, from which each run makes counts and successors,
//! and starts its threads; the caller hands out what is ready.

use std::sync::Arc;

use dag_exec::{DagBuilder, Executor, ExecutorConfig};

use super::Work;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    let work = Arc::new(Work::new(p));
    let nodes = work.shape.len();
    let mut graph = DagBuilder::<u32, (), ()>::new();
    for node in 0..nodes {
        let before = work.shape.before(node).to_vec();
        let work = work.clone();
        let body = move |_: &[Arc<()>]| {
            work.body(node);
            Ok(())
        };
        graph.add_task(node as u32, before, body).map_err(|error| Failure::Wrong(format!("{error:?}")))?;
    }
    let graph = graph.build().map_err(|error| Failure::Wrong(format!("{error:?}")))?;
    let config = ExecutorConfig { max_workers: p.workers, max_in_flight: p.workers * 64, worker_queue_cap: 64 };
    let executor = Executor::new(config);
    let mut failed = None;
    let outcome = work.measure(|| failed = executor.run_parallel(&graph, [nodes as u32 - 1]).err());
    match failed {
        Some(error) => Err(Failure::Wrong(format!("{error:?}"))),
        None => outcome,
    }
}
