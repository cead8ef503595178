//! Jobs: `myriad::jobs`, with the feature of that name:
//! `cargo test -p myriad-rt --features jobs --test jobs`.

#[path = "../common/mod.rs"]
mod common;

mod job_arrays;
mod job_children;
mod job_commands;
mod job_edges;
mod job_edit;
mod job_engine;
mod job_events;
mod job_memory;
mod job_output;
mod job_pipes;
mod job_queries;
mod job_rows;
mod job_rules;
mod job_runtimes;
mod job_series;
mod job_waits;
