//! Time: the timers of a worker, and sleeping.
mod later;
pub(crate) mod sleep;
mod timeout;
#[allow(unreachable_pub)] // as `sched`
pub(crate) mod timers;
pub(crate) mod wheel;

pub use crate::sys::clock::Instant;
pub use later::{Timer, call_later};
pub use sleep::{Sleep, now, sleep, sleep_async, sleep_until, sleep_until_async};
pub use timeout::{Elapsed, Timeout, deadline, deadline_async, timeout, timeout_async};
