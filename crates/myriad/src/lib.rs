//! Lightweight tasks: one scheduler from a 10-nanosecond task to a ten-day job.

pub use myriad_core::platform::{Platform, platform};
pub use myriad_core::{
    Builder, Handle, JoinError, JoinHandle, Report, Runtime, Scope, ScopedJoinHandle, Unhandled, block_on, join, run,
    scope, spawn, spawn_async, yield_now,
};
pub use myriad_sync::channel;

/// Tasks: names, and what there is beside [`spawn`].
pub mod task {
    pub use myriad_core::task::Builder;
    pub use myriad_core::yield_now;
}

/// Time: sleeping, instants.
pub mod time {
    pub use myriad_core::time::{Instant, Sleep, now, sleep, sleep_async, sleep_until, sleep_until_async};
}
