//! Time: the timers of a worker, and sleeping.
mod later;
pub(crate) mod sleep;
pub(crate) mod timeout;

pub use later::{Timer, call_later};
pub(crate) use myriad_base::sys::clock::Instant;
pub use sleep::{Sleep, now, sleep, sleep_async, sleep_until, sleep_until_async};
pub use timeout::{Elapsed, Timeout, deadline, deadline_async, timeout, timeout_async};
