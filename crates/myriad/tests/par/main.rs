//! Parallel loops, reductions, scans, sorts.

#[path = "../common/mod.rs"]
mod common;
#[path = "../sort_common/mod.rs"]
mod sort_common;

mod par_destructors;
mod par_fallible;
mod par_filter;
mod par_loop_bodies;
mod par_loop_ends;
mod par_loops;
mod par_reduce;
mod par_scan;
mod par_sort;
mod par_sort_comparators;
