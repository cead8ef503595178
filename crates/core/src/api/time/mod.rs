//! Time: the timers of a worker, and sleeping.
pub(crate) mod sleep;
pub(crate) mod timeout;

pub use crate::runtime::dump::{TimedOut, why_timed_out};
pub(crate) use myriad_base::sys::clock::Instant;
pub use sleep::{Sleep, now, sleep, sleep_async, sleep_until, sleep_until_async};
pub use timeout::{Elapsed, Timeout, deadline, deadline_async, timeout, timeout_async};
