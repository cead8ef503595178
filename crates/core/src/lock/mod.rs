//! The lock that channels and locks are built on.
pub mod biased;
