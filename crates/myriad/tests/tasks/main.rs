//! Tasks: spawning, joining, scopes, futures, panics, what belongs to a task, groups and gangs.

#[path = "../common/mod.rs"]
mod common;

mod futures;
mod gangs;
mod groups;
mod hints;
mod join;
mod join_set;
mod local_scope;
mod panics;
mod panics_endings;
mod places;
mod rng;
mod scope;
mod scoped_values;
mod shared_map;
mod single_flight;
mod spawn;
mod task_identity;
mod task_local;
mod task_local_drops;
