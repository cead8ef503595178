//! Channels, locks and select for the tasks of Myriad.
//!
//! People use them through the crate `myriad`. One implementation of each serves closures that
//! block, futures and plain threads, in every pairing: all wait through
//! [`myriad_core::engine::wait`].
// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

pub mod answer;
pub mod channel;
pub mod ending;
mod entry;
mod guarded;
mod impls;
pub mod inbox;
mod limit;
pub mod lock;
pub mod node_end {
    //! The end of a node of a dataflow, which tasks wait for.
    pub use crate::lock::event::NodeEnd;
}
pub mod readiness {
    //! What a reactor sets, and tasks wait for.
    pub use crate::lock::readiness::{Readiness, ReadinessWait};
}
pub mod select;
pub mod shared;
mod values;
mod wake_list;
