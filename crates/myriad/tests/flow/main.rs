//! Flow: operations on channels, task graphs, dataflow.
//!
//! Numbers in the comments of tests count the situations that a model of core.async or of Dagger
//! gets wrong most easily.

mod as_core_async;
mod bounds;
mod budgets;
mod budgets_ends;
mod caches;
mod checkpoints;
#[path = "../common/mod.rs"]
mod common;
mod dataflow;
mod dataflow_ends;
mod dataflow_left;
mod graph;
mod graph_endings;
mod graph_levels;
mod graph_settings;
mod mix;
mod ops;
mod ops_ends;
mod per_worker;
mod pipeline_async;
mod process;
mod process_ends;
mod process_refused;
mod random;
mod region;
mod region_random;
mod timed;

use crate::common::each;

/// In a runtime of each kind, with one worker and with two.
#[track_caller]
fn each_runtime(body: impl Fn() + Send + Sync) {
    each(&[1, 2], |rt| rt.run(&body));
}
