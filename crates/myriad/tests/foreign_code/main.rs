//! Foreign code (destructors, wakers, hooks, closures of users) at places where the engine holds
//! something, and runtimes that end while others still hold on to what belongs to them.

#[path = "../common/mod.rs"]
mod common;

mod bindings;
mod blocking_calls;
mod destructors;
mod hooks;
mod in_hand;
mod keys;
mod payloads;
mod runtime_ends;
mod stale_handles;
mod standard_error;
mod stuck_hooks;
mod thread_locals;
mod values;
mod wakers;
mod waking;
