//! Channels and locks for the tasks of Myriad.
//!
//! One implementation of each serves closures that block, futures and plain threads, in every pairing: all wait through
//! [`myriad_core::wait`].

pub mod channel;
pub mod select;
