//! `myriad`: a runtime of its own with `w` workers, in the mode that the run asks for.

use myriad::task::{self, Place};
use myriad::{Builder, Runtime, spawn_async};

use crate::limits;
use crate::params::{Mode, Params};
use crate::record::Failure;

/// Starts the runtime.
pub(crate) fn start(p: &Params) -> Result<Runtime, Failure> {
    build(builder(p))
}

/// Starts the runtime of this builder.
pub(crate) fn build(builder: Builder) -> Result<Runtime, Failure> {
    builder.build().map_err(|e| Failure::Wrong(format!("the runtime did not start: {e}")))
}

/// The settings.
pub(crate) fn builder(p: &Params) -> Builder {
    let builder = match p.mode {
        // SAFETY: the programs of this crate keep no thread-local value across a suspension.
        Mode::Fibers => unsafe { Builder::fibers() },
        Mode::Threads => Builder::new(),
    };
    let policy = p.policy.to_string().parse().expect("a policy of Myriad has each of these names");
    // No spare workers for those that compute: the peers have as many threads as were asked for.
    builder.workers(p.workers).spare_workers(0).policy(policy)
}

/// Runs `f` as a task on a worker and waits for it, as [`super::tokio`] does. (A closure that
/// blocks on `f` would be woken by a switch of stacks, or of threads, where the peers' root is
/// polled.)
pub(crate) fn run_future<F>(rt: &Runtime, f: F) -> F::Output
where
    F: Future<Output: Send> + Send + 'static,
{
    rt.run(move || spawn_async(f).join()).expect("the root task does not panic")
}

/// How each of `n` tasks in a row is spawned: `placed` in a block for each worker.
pub(crate) fn builders(placed: bool, n: u64) -> impl Iterator<Item = task::Builder> {
    let mut places = Place::spread(n as usize);
    std::iter::repeat_with(move || match places.next() {
        Some(place) if placed => task::Builder::new().place(place),
        _ => task::Builder::new(),
    })
}

/// Refuses more closures that wait at the same time than there can be threads, in the mode where
/// each has one.
pub(crate) fn waiting(p: &Params, tasks: u64) -> Result<(), Failure> {
    match p.mode {
        Mode::Fibers => Ok(()),
        Mode::Threads => limits::threads(tasks),
    }
}
