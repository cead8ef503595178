//! `Barrier`.

use myriad::sync as on;
use std::future::Future;

pub use on::BarrierWaitResult;

/// Lets so many go on together.
#[derive(Debug)]
pub struct Barrier(on::Barrier);

impl Barrier {
    /// None is as one.
    pub fn new(n: usize) -> Barrier {
        Barrier(on::Barrier::new(n.max(1)))
    }
    /// Waits for the others.
    pub fn wait(&self) -> impl Future<Output = BarrierWaitResult> + '_ {
        self.0.wait_async()
    }
}
