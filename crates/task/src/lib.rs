//! What Myriad offers for many tasks at a time: sets of tasks, concurrent maps, scopes for tasks
//! that are not `Send`, and functions that are called later.
//!
//! Programs use it through the crate `myriad`. All of this is built on tasks, futures and timers of
//! `myriad-core`, and knows none of the engine's insides.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod call_later;
mod completions;
mod join_set;
mod local_scope;
mod map_concurrent;
mod slots;

pub use call_later::{Timer, call_later};
pub use join_set::JoinSet;
pub use local_scope::{LocalJoinHandle, LocalScope, local_scope};
pub use map_concurrent::{map_concurrent, map_concurrent_unordered, try_map_concurrent};
