//! Channels, locks and select for the tasks of Myriad.
//!
//! People use them through the crate `myriad`. One implementation of each serves closures that block, futures and plain
//! threads, in every pairing: all wait through [`myriad_core::wait`].

pub mod channel;
mod entry;
pub mod lock;
pub mod select;
pub mod shared;
mod values;
