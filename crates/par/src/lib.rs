//! Parallel loops, maps, reductions, scans and sorts on the workers of Myriad.
//!
//! ```
//! use myriad::par;
//!
//! let squares = par::map_index(0..1000_u64, |i| i * i);
//! assert_eq!(par::sum(&squares), 332_833_500);
//!
//! let mut halves = vec![1.0; 1000];
//! par::for_each_mut(&mut halves, |x| *x /= 2.0);
//! par::scan_inclusive(&mut halves, |a, b| a + b);
//! assert_eq!(halves[999], 500.0);
//! ```
//!
//! What takes a range of integers has `_index` at the end of its name; the others take a slice.
//!
//! | | |
//! |---|---|
//! | [`for_each`], [`for_each_mut`], [`for_each_chunk`], [`for_each_chunk_mut`] | each element, or part, of a slice |
//! | [`for_each_index`], [`Loop`] | a body for each number of a range; grain, schedule, all panics |
//! | [`for_each_bridge`] | for each item of any iterator (rayon's `par_bridge`) |
//! | [`map`], [`map_index`], [`Loop::map`] | a vector of results, in order; with a grain |
//! | [`filter`], [`filter_map`], [`filter_map_index`], [`Loop::filter_map`] | of those that are wanted |
//! | [`reduce`], [`map_reduce_index`], [`sum`], [`Loop::map_reduce`] | one result, the same bits on each run |
//! | [`scan_inclusive`], [`scan_exclusive`], [`prefix_sum`] | all the prefixes, in place |
//! | [`scan_inclusive_to`], [`scan_exclusive_to`] | all the prefixes, elsewhere |
//! | [`mod@sort`] | sorting: stable, unstable, by keys, floats; merging |
//!
//! # What is common to all
//!
//! All are built from [`join`](myriad_core::join): the caller works too, and others take a part
//! when they have nothing to do. Work is cut only then, so on a busy machine, in a nested loop, or
//! with one worker, a loop is a loop. Bodies are tasks, or parts of one: they may block, spawn, and
//! call all of this again.
//!
//! - **Nobody is started for each iteration.** A body that blocks holds up the iterations that come
//!   after it in its part, and about as many bodies are under way as there are workers. For work
//!   that mostly waits see `map_concurrent`, or a loop with
//!   the schedule [`Greedy`](Schedule::Greedy) and as many [`tasks`](Loop::tasks) as should wait at
//!   a time.
//! - **A foreign thread** sleeps meanwhile: all runs on the global runtime.
//! - **Task-locals and random numbers** of a body are those of the part that it happens to be in.
//!   For numbers that do not depend on the schedule, seed a generator with the index.
//! - **Cancelling** the caller cancels all parts: at their next blocking point, and between two
//!   pieces of about a microsecond (or one grain, or one long body). It goes on when all have
//!   ended.
//! - **Destructors that wait** may be left by unwinding, as any code of a cancelled task. All
//!   elements are dropped once even so. One case is the compiler's, not ours: in
//!   `|a, b| Sum::new(a.0 + b.0)` the result is there before `a` and `b` are dropped, and it
//!   [leaks](https://github.com/rust-lang/rust/issues/47949) if one of their destructors unwinds.
//!   Drop them before, or let the destructor [`shield`](myriad_core::cancel::shield) its wait.

// They panic where the output is full or closed: see `sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]
#![warn(unused_qualifications)]

mod failures;
mod fallible;
mod filter;
mod grain;
mod loops;
mod map;
mod number;
mod raw;
mod reduce;
mod scan;
pub mod sort;
mod unwind;

pub use failures::Panics;
pub use fallible::{try_for_each, try_for_each_index, try_map, try_map_index};
pub use filter::{filter, filter_map, filter_map_index};
pub use loops::{
    Index, Loop, Schedule, for_each, for_each_bridge, for_each_chunk, for_each_chunk_mut, for_each_index, for_each_mut,
};
pub use map::{map, map_index};
pub use number::Number;
pub use reduce::{map_reduce_index, reduce, sum};
#[cfg(loom)]
pub use scan::model;
pub use scan::{prefix_sum, scan_exclusive, scan_exclusive_to, scan_inclusive, scan_inclusive_to};
pub use sort::{
    merge, merge_by, merge_by_key, merge_sort, merge_sort_by, merge_sort_by_key, sort, sort_by, sort_by_cached_key,
    sort_by_key, sort_by_radix_key, sort_floats, sort_unstable, sort_unstable_by, sort_unstable_by_key,
};
