//! The record of a task: its header, state, result, memory, and where the task is.
//!
//! The lowest floor of the engine: data and their transitions. It knows neither queues nor workers.
pub(crate) mod create;
pub(crate) mod current;
pub(crate) mod header;
pub(crate) mod held;
pub(crate) mod memory;
pub(crate) mod payload;
pub(crate) mod peek;
pub(crate) mod position;
pub(crate) mod state;
pub(crate) mod step;
pub(crate) mod task;
pub(crate) mod watch;
