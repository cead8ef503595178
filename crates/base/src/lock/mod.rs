//! The locks that channels and locks are built on.
pub mod bias_owner;
pub mod biased;
pub mod spin;

#[cfg(all(test, not(loom)))]
mod test;
