//! The tests of other runtimes' tasks, channels and locks, as they read with Myriad.

#[path = "../channel_common/mod.rs"]
mod channel_common;
#[path = "../common/mod.rs"]
mod common;
#[path = "../lock_common/mod.rs"]
mod lock_common;

mod boost_fiber;
mod core_async;
mod crossbeam_channel;
mod go_channels;
mod go_sync;
mod julia_tasks;
mod std_locks;
