//! Cancellation.

#[path = "../cancel_common/mod.rs"]
mod cancel_common;
#[path = "../common/mod.rs"]
mod common;

mod cancel_grants;
mod cancel_handles;
mod cancel_in_panics;
mod cancel_joins;
mod cancel_life;
mod cancel_locks;
mod cancel_many;
mod cancel_policies;
mod cancel_scopes;
mod cancel_selects;
mod cancel_stacks;
mod cancel_threads;
mod cancel_waits;
