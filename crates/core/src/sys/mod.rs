//! The only door to atomics, cells, threads, clock, memory maps and futexes.
//!
//! Everything that the engine and the floors above it share between threads comes through here, so that one switch
//! replaces it all: under `--cfg loom` the atomics, cells and parking are the model checker's, and [`mutant`] can plant
//! a fault; time comes from [`clock`], which a runtime can make virtual.
//!
//! Not for users: the module is public for the crates of this workspace only and may change at any time.

pub mod atomic;
pub mod cell;
pub mod clock;
pub mod fence;
pub mod futex;
pub mod map;
pub mod mutant;
pub mod thread;
