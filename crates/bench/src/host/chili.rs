//! `chili`: a pool of its own. Its `thread_count` counts the calling thread, which works too.

use std::num::NonZero;

use chili::{Config, ThreadPool};

use crate::params::Params;

/// Starts the pool; work is done through `pool.scope()`.
pub(crate) fn start(p: &Params) -> ThreadPool {
    ThreadPool::with_config(Config { thread_count: NonZero::new(p.workers), ..Config::default() })
}
