//! Prefix scans: each element becomes the combination of all up to it.
//!
//! ```text
//!  alone     [==== done ====]->                                   one pass over memory
//!  team      [A: done][B: done][A: scan][B: reduce][A claims][ ... ]
//!                                 ^ prefix of all before, from the chain (chain.rs)
//! ```
//! *Alone*, the caller scans straight on. When a worker is idle, what is left is cut into blocks
//! that fit into a second-level cache, and becomes a *chained scan with decoupled look-back*
//! (Merrill & Garland 2016; StreamScan: Yan, Long & Zhang 2013): workers claim blocks in order;
//! each reduces its block, which brings it into its cache, publishes the aggregate, takes the
//! prefix from the blocks before, publishes its own, and scans the block out of its cache, in one
//! loop with the reduction of its next block, which comes from memory. So memory is read and
//! written once, as by a plain loop, and there is always something to fetch.
//!
//! Parts: `source.rs` (where elements come from), `kernel.rs`, `reduction.rs`, `lines.rs` (what is
//! done with a block), `chain.rs` (what workers tell each other), `team.rs` (who does what).
//!
//! **Rejected.** Two passes over the whole (reduce all, then scan all): twice the memory traffic,
//! 41 ms instead of 22 for 400 MB. "Scan straight on if the prefix is already there" while two are
//! at work: the next one then waits for a whole scan instead of a reduction (35 ms). Stores that
//! bypass the cache: slower everywhere. To reduce a block, then to scan it, fetching the next one:
//! the reduction has nothing to fetch, and the scan more than the processor can have under way
//! (0.46 to 0.48 ns an element with two workers; in one loop 0.34). Two lines of the cache at a
//! time in that loop: 0.42.

mod api;
mod chain;
mod kernel;
mod lines;
mod reduction;
mod source;
mod team;

pub use api::{prefix_sum, scan_exclusive, scan_exclusive_to, scan_inclusive, scan_inclusive_to};
#[cfg(loom)]
pub use chain::model;
