//! The scheduler: deques, waking, idling, workers.
pub mod deque;
pub mod idle;
pub mod inbox;
pub mod node;
