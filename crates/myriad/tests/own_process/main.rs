//! Tests that need a process of their own: each one starts this binary again for itself
//! (`common::in_child`), with its name as the filter. The child may count threads, set limits and
//! variables, use the global runtime, or die.

#[path = "../common/mod.rs"]
mod common;
#[path = "../sort_common/mod.rs"]
mod sort_common;

mod deadlocks;
mod dump_signal;
mod fallbacks;
mod global_runtime;
mod lifecycle;
mod limits;
mod lock_words;
mod par_sort_memory;
mod stack_room;
mod thread_count;
