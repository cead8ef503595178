//! Parallel loops, reductions, scans and sorts on the workers of Myriad.
//!
//! People use them through the crate `myriad`, as `myriad::par`. All are built from [`myriad_core::join`]: their bodies are
//! tasks, and may block, spawn and be cancelled.

pub mod sort;
