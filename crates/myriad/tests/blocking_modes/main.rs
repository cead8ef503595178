//! What fibers and threads promise: programs that hurt elsewhere (`pains_*`), and the contract of
//! fiber mode (`soundness`).

#[path = "../common/mod.rs"]
mod common;

mod pains_blocking;
mod pains_sharing;
mod pains_stacks;
mod pains_stuck;
mod pains_waiting;
mod soundness;
