//! Sorting in parallel: std's names, as functions of a slice. Example: [`sort`].
//!
//! | | stable | memory | elements | |
//! |---|---|---|---|---|
//! | [`sort`], [`sort_by`], [`sort_by_key`] | yes | as much again | `Send + Sync` | sample sort |
//! | [`sort_unstable`], … | no | for a short run | `Send + Sync` | quicksort |
//! | [`merge_sort`], … | yes | as much again | `Send` | runs, and merges |
//! | [`sort_by_cached_key`] | yes | keys twice, elements | `Send + Sync` | keys, then indices |
//! | [`sort_by_radix_key`] | yes | as much again | `Send + Sync` | one digit, then sorts |
//! | [`sort_floats`] | does not matter | 0.5 MB a worker | `f32`, `f64` | as integers |
//! | [`merge`], … | yes | as much again | `Send` | of two sorted ranges |
//!
//! Below all of them std's sorts do the parts: these are very good, and what they promise is what
//! we promise. A short slice is left to them altogether, right where the caller is.
//!
//! **From anywhere.** In a task the sort forks in the task's own pool; a foreign thread gives it to
//! the global runtime and sleeps. Sorts nest, in loops, in tasks, in comparators.
//!
//! **Why `Sync`?** Workers compare with the same splitters at the same time. rayon asks for `Send`
//! alone, and pays with a serial partition or with merges. Who has elements that are not `Sync`
//! finds [`merge_sort_by`].

// Invariants:
// - The caller's code runs only while all elements are in the slice, or all in the buffer, or each
//   in a known part of a merge.
// - Repairs belong to one frame, that of the whole sort: a guard there puts everything back when a
//   panic or a cancellation ends it. The tasks below it only keep what the guard reads true.
//   `join` does not leave before both sides have ended, or never will begin.
// - An answer of a comparator decides which of two elements moves, never whether an index is in
//   bounds.
// - No lock and nothing of a worker's is held while the caller's code runs: it may block.

mod buffer;
mod cached;
mod digits;
mod few;
mod floats;
mod fork;
mod merge;
mod partition;
mod permute;
mod presorted;
mod quick;
mod radix;
mod random;
mod sample;
mod stable;
mod unstable;

pub use cached::sort_by_cached_key;
pub use floats::{Float, sort_floats};
pub use merge::{merge, merge_by, merge_by_key, merge_sort, merge_sort_by, merge_sort_by_key};
pub use radix::{RadixKey, sort_by_radix_key};
use random::Random;
pub use stable::{sort, sort_by, sort_by_key};
pub use unstable::{sort_unstable, sort_unstable_by, sort_unstable_by_key};

/// Fewer elements than this are sorted by std, right where the caller is.
const SERIAL: usize = 1 << 14;
