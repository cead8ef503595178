//! What users call: spawning, joining, scopes, groups, time, task-locals.
//!
//! The highest floor of the engine; each file is a feature.
pub(crate) mod block_on;
pub(crate) mod blocking;
pub(crate) mod builder;
pub(crate) mod dedicated;
pub(crate) mod dispatch;
mod ended;
pub(crate) mod error;
pub(crate) mod future;
pub(crate) mod gang;
pub(crate) mod group;
pub(crate) mod guest;
pub(crate) mod handle;
pub(crate) mod id;
pub(crate) mod keep_thread;
pub(crate) mod pair;
pub(crate) mod portable;
pub(crate) mod prioritized;
pub(crate) mod property;
pub(crate) mod run;
pub(crate) mod scope;
pub(crate) mod spawn;
pub(crate) mod split;
pub(crate) mod time;
pub(crate) mod token;
pub(crate) mod try_scope;
mod until;

pub use block_on::block_on;
pub use builder::Builder;
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
pub(crate) use pair::StackTask;
pub use pair::join;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use spawn::spawn;
pub use try_scope::{Errors, TryScope, race, try_scope};
