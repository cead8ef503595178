//! A drop-in for `rayon-core` on the workers of [Myriad](https://github.com/myriad-rt/myriad).
//!
//! The interface is that of rayon-core 1.13. A program that uses rayon adds two lines to the
//! `Cargo.toml` at its top,
//!
//! ```toml
//! [patch.crates-io]
//! rayon-core = { git = "https://github.com/myriad-rt/myriad" }
//! ```
//!
//! and unmodified rayon runs on Myriad: parallel iterators, sorting, `join`, `scope` and `spawn`
//! are tasks of the global runtime, or of the runtime of the task that calls them. In them
//! channels, locks, joins and futures of Myriad block *tasks*, not workers; and a closure that
//! waits in a `join` is set aside, so no other one runs on top of it. `docs/RAYON.md` says what
//! that is good for, and what differs.
//!
//! Pools that [`ThreadPoolBuilder::build`] makes have threads of their own, as they promise.
// They panic where the output is full or closed: see `sys::say` of base.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod broadcast;
mod builder;
mod configuration;
mod error;
mod fork;
mod global;
mod join;
mod own;
mod pool;
mod scope;
mod shared;
mod spawn;
mod thread_pool;
mod unwind;
mod user_code;
mod yields;

pub use broadcast::{BroadcastContext, broadcast, spawn_broadcast};
pub use builder::ThreadPoolBuilder;
#[allow(deprecated)]
pub use configuration::{Configuration, initialize};
pub use error::ThreadPoolBuildError;
pub use join::{FnContext, join, join_context};
pub use own::thread::ThreadBuilder;
pub use scope::{Scope, ScopeFifo, in_place_scope, in_place_scope_fifo, scope, scope_fifo};
pub use spawn::{spawn, spawn_fifo};
pub use thread_pool::{
    ThreadPool, current_num_threads, current_thread_has_pending_tasks, current_thread_index, max_num_threads,
};
pub use yields::{Yield, yield_local, yield_now};
