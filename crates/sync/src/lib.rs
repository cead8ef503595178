//! Channels for the tasks of Myriad.
//!
//! People use them through the crate `myriad`. One implementation serves closures that block, futures and plain threads, in
//! every pairing: all wait through [`myriad_core::wait`].

pub mod channel;
pub mod select;
