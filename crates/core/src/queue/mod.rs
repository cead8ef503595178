//! Queues of tasks and of waits that go on: the deque of a worker and its thieves, inboxes,
//! policies.
//!
//! The second floor: data structures, which know records, and no worker.
pub(crate) mod deque;
pub(crate) mod inbox;
pub(crate) mod look;
#[allow(unreachable_pub)] // the engine's interface
pub(crate) mod made;
pub(crate) mod parked;
pub(crate) mod policy;
pub(crate) mod ready;
pub(crate) mod reason;
#[cfg(all(test, not(loom)))]
pub(crate) mod records;
