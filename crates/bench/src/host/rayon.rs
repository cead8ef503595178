//! `rayon`: a pool of its own with `w` threads.

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::params::Params;

/// Starts the pool; `pool.install(f)` runs `f` on one of its threads.
pub(crate) fn start(p: &Params) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(p.workers).build().expect("the kernel gives rayon a few threads")
}
