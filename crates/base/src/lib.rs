//! The ground floor of Myriad: the system, locks, stacks and the timing wheel. Nothing here knows
//! what a task is.
//!
//! | module | contents |
//! |---|---|
//! | [`sys`] | atomics, cells, fences, futexes, memory maps, threads, clock; under `--cfg loom` the model checker's |
//! | [`lock`] | the spin lock and the biased lock, on which channels and locks are built |
//! | [`stack`] | switching between stacks, their memory, what happens at an overflow |
//! | [`blocks`] | free lists of small blocks of memory, in front of the allocator |
//! | [`pieces`] | pieces of memory that go back to the system |
//! | [`ref_count`] | the count of the references to a value that is shared |
//! | [`hash`] | hash tables of numbers |
//! | [`wheel`] | timers in the order of their deadlines |
//! | [`json`] | words of JSON |
//! | [`unwind`] | catching panics; places that must not be left by one |
//! | [`platform`] | what the engine found on this machine |
//!
//! The crate is for the other crates of this workspace. Its interface may change at any time.
// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "Myriad needs a 64-bit processor: wakers keep a generation above an address, and positions in queues never wrap around. \
     docs/PLATFORM.md lists the platforms."
);

pub mod blocks;
pub mod hash;
pub mod json;
pub mod lock;
pub mod pieces;
pub mod platform;
pub mod ref_count;
pub mod stack;
pub mod sys;
pub mod unwind;
pub mod wheel;
