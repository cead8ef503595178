//! Flow: operations on channels, networks of processes, task graphs, dataflow, and pictures of
//! these.
//!
//! Examples: [`pipeline`], [`process`], [`Graph`], [`region`](mod@region), [`spawn`],
//! [`Trace`](view::Trace).
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod dataflow;
pub mod graph;
mod one_by_one;
pub mod ops;
mod panic;
mod per_worker;
pub mod process;
#[doc(hidden)]
pub mod protocol;
pub mod region;
mod stored;
pub mod view;

pub use dataflow::{
    All, Budget, Bulk, Cache, Checkpoints, Handle, NodeError, Options, Sequence, Spillable, StoreError, Stored, Value,
    all, any, named, spawn, try_spawn,
};
pub use graph::Graph;
pub use ops::{merge, mix, mult, pipe, pipeline, pipeline_async, publish, split};
pub use per_worker::PerWorker;
pub use region::region;
