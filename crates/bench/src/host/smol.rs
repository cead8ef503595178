//! `smol`: its executor, run by `w` threads.

use std::thread;

use smol::{Executor, Task, future};

use crate::params::Params;

/// The executor of this process.
static EXECUTOR: Executor<'static> = Executor::new();

/// A started executor.
pub(crate) struct Host;

/// Starts `p.workers` threads. They live as long as the process, which does a single run.
pub(crate) fn start(p: &Params) -> Host {
    for i in 0..p.workers {
        let worker = thread::Builder::new().name(format!("smol-{i}"));
        worker.spawn(|| future::block_on(EXECUTOR.run(future::pending::<()>()))).expect("the kernel gives us a thread");
    }
    Host
}

/// Makes a task; dropping the handle cancels it, so those that nobody awaits are detached.
pub(crate) fn spawn<F>(f: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    EXECUTOR.spawn(f)
}

impl Host {
    /// Runs `f` as a task on a worker and waits for it.
    pub(crate) fn run<F>(&self, f: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        future::block_on(spawn(f))
    }
}
