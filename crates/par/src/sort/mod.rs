//! Sorting in parallel.
