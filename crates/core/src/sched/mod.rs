//! The scheduler: deques, waking, idling, workers.
pub mod deque;
pub mod foreign;
pub mod idle;
pub mod inbox;
pub mod node;
pub mod policy;
pub mod priority;
pub mod ready;
#[cfg(all(test, not(loom)))]
mod records;
pub mod relief;
pub mod split;
pub mod stacks;
pub mod turn;
pub mod worker;
