//! The lock that channels and locks are built on.
pub mod biased;
pub mod biaser;

#[cfg(all(test, not(loom)))]
mod test;
