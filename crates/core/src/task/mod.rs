//! Tasks: the record, its memory, spawning, joining.
mod block_on;
mod builder;
mod completions;
#[cfg(not(loom))]
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod context;
#[cfg(loom)]
pub mod context;
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod dedicated;
mod dispatch;
mod error;
pub(crate) mod finish;
mod future;
pub(crate) mod gang;
mod group;
mod handle;
#[cfg(not(loom))]
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod header;
#[cfg(loom)]
pub mod header;
#[cfg(not(loom))]
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod id;
#[cfg(loom)]
pub mod id;
mod keep_thread;
mod lane;
mod local;
mod map;
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod memory;
mod pair;
pub(crate) mod record;
mod scope;
mod set;
pub(crate) mod spawn;
#[cfg(not(loom))]
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod state;
#[cfg(loom)]
pub mod state;
mod try_scope;
pub(crate) mod unhandled;
pub(crate) mod waker;

pub use crate::sched::priority::Priority;
pub use block_on::block_on;
pub use builder::Builder;
pub use context::{AccessError, Bound, LocalKey, ScopedValue, rng};
pub use dedicated::dedicated;
pub use dispatch::{YieldedTo, dispatch};
pub use error::JoinError;
pub use future::spawn_async;
pub(crate) use future::spawn_async_on;
pub use gang::{GangError, gang, try_gang};
pub use group::{Group, Local};
pub use handle::JoinHandle;
pub(crate) use handle::JoinWait;
pub use id::{Task, TaskId, current};
pub use keep_thread::keep_thread;
pub(crate) use keep_thread::{Lent, lend};
pub use local::{LocalJoinHandle, LocalScope, local_scope};
pub use map::{map_concurrent, map_concurrent_unordered, try_map_concurrent};
pub(crate) use pair::StackTask;
pub use pair::join;
pub(crate) use scope::owner_of;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use set::JoinSet;
pub(crate) use set::tell_of_left;
pub use spawn::spawn;
pub use try_scope::{Errors, TryScope, race, try_scope};
