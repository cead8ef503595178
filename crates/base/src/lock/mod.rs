//! The locks that channels and locks are built on.
pub mod biased;
pub mod biaser;
pub mod spin;

#[cfg(all(test, not(loom)))]
mod test;
