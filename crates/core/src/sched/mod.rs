//! The scheduler: workers and their loop, sleeping and waking, waiting, timers, cancellation.
//!
//! One knot, for to block is to say where one waits, and to be cancelled is to be woken there.
//! Begin with [`run_loop`].
mod ask;
pub(crate) mod borrower;
pub(crate) mod busy;
pub(crate) mod calls;
pub(crate) mod cancel;
pub(crate) mod context;
pub(crate) mod counters;
pub(crate) mod driver;
pub(crate) mod finish;
pub(crate) mod fork;
pub(crate) mod gather;
pub(crate) mod hints;
pub(crate) mod idle;
pub(crate) mod latency;
pub(crate) mod lifecycle;
pub(crate) mod pool;
pub(crate) mod priority;
pub(crate) mod rescue;
pub(crate) mod run_loop;
pub(crate) mod spare;
pub(crate) mod stacks;
pub(crate) mod timers;
pub(crate) mod unhandled;
pub(crate) mod unwind;
pub(crate) mod user_code;
pub(crate) mod wait;
pub(crate) mod waker;
pub(crate) mod worker;
