//! Tasks: the record, its memory, spawning, joining.
mod block_on;
mod builder;
mod error;
pub(crate) mod finish;
mod future;
mod handle;
pub mod header;
pub mod identity;
pub(crate) mod memory;
mod pair;
pub(crate) mod record;
mod scope;
pub(crate) mod spawn;
pub mod state;
pub(crate) mod unhandled;
pub(crate) mod waker;

pub use block_on::block_on;
pub use builder::Builder;
pub use error::JoinError;
pub use future::spawn_async;
pub(crate) use future::spawn_async_on;
pub use handle::JoinHandle;
pub(crate) use pair::StackTask;
pub use pair::join;
pub use scope::{Scope, ScopedJoinHandle, scope};
pub use spawn::spawn;
